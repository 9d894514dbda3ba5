export SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK=128
export SGLANG_NPU_FUSED_KERNEL=1
python -m sglang.launch_server --model-path deepseek-v4
