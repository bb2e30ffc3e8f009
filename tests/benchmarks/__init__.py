"""Benchmarks: each module measures the project beside its rivals in one run. `python -m tests.benchmarks` runs all."""

BENCHMARKS = (
    "accuracy_flights",
    "accuracy_synthetic",
    "accuracy_temporal",
    "cost_model",
    "dhe_accuracy",
    "dhe_encoder",
    "foreign_models",
    "fused_lookup",
    "headroom",
    "mp_cache",
    "mp_rec_paper",
    "operator_breakdown",
    "opportunity",
    "profile_cost",
    "simulator_speed",
    "theory",
    "training_throughput",
    "whole_model_speed",
    "zionex",
)
