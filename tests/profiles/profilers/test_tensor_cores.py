import pytest

from profiles.profilers.tensor_cores import uses_tensor_cores


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", True),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", True),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", True),
        ("void pytorch_flash::flash_fwd_kernel<...>", True),
        ("volta_fp16_h884gemm_fp16_128x128_ldg8_f2f_tn", True),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", False),
        ("volta_sgemm_128x64_tn", False),
        ("Memcpy HtoD (Pinned -> Device)", False),
        ("triton_mm_2", None),
    ],
)
def test_a_kernel_s_name_tells(kernel: str, expected: bool | None) -> None:
    assert uses_tensor_cores(kernel) is expected
