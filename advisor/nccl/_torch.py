"""Variables that PyTorch reads for its process groups, the old names among them.

Sources: PyTorch 2.14.1, ProcessGroupNCCL.hpp, FlightRecorder.hpp and the strings of its libraries; commit 8f8722e3.
"""

from advisor.nccl._knob import YES_NO, Knob

NUMBER = "[+-]?[0-9].*"
"""What C++'s stoi takes; for all else PyTorch raises an error."""
YES = "(?i:y|yes|1|t|true)"
NO = "(?i:n|no|0|f|false)"

TORCH: tuple[Knob, ...] = (
    Knob("TORCH_NCCL_ASYNC_ERROR_HANDLING", "torch", "", NUMBER, leftover="0"),
    Knob("TORCH_NCCL_BLOCKING_WAIT", "torch", "", YES_NO, leftover=YES),
    Knob("TORCH_NCCL_HIGH_PRIORITY", "torch", "", YES_NO),
    Knob("TORCH_NCCL_BCAST_UNIQUEID", "torch", "", YES_NO),
    Knob("TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "torch", "", YES_NO),
    Knob("TORCH_NCCL_DUMP_ON_TIMEOUT", "torch", "", YES_NO),
    Knob("TORCH_NCCL_PROPAGATE_ERROR", "torch", "", YES_NO),
    Knob("TORCH_NCCL_DESYNC_DEBUG", "torch", "", YES_NO, leftover=YES),
    Knob("TORCH_NCCL_ENABLE_TIMING", "torch", "debugging", YES_NO, leftover=YES),
    Knob("TORCH_NCCL_ENABLE_MONITORING", "torch", "", YES_NO, leftover=NO),
    Knob("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "torch", "", NUMBER),
    Knob("TORCH_NCCL_RETHROW_CUDA_ERRORS", "torch", "", YES_NO),
    Knob("TORCH_NCCL_TRACE_BUFFER_SIZE", "torch", "", NUMBER, instead="TORCH_FR_BUFFER_SIZE"),
    Knob("TORCH_FR_BUFFER_SIZE", "torch", "", NUMBER),
    Knob("TORCH_NCCL_TRACE_CPP_STACK", "torch", "", YES_NO, instead="TORCH_FR_CPP_STACK"),
    Knob("TORCH_FR_CPP_STACK", "torch", "", YES_NO),
    Knob("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "torch", "", NUMBER),
    Knob("TORCH_NCCL_COORD_CHECK_MILSEC", "torch", "", NUMBER),
    Knob("TORCH_NCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN", "torch", "", YES_NO),
    Knob("TORCH_NCCL_EXTRA_DUMP_ON_EXEC", "torch", "", YES_NO),
    Knob("TORCH_NCCL_CUDA_EVENT_CACHE", "torch", "", YES_NO),
    Knob("TORCH_NCCL_RANKS_PER_ROOT", "torch", "", NUMBER),
    Knob("TORCH_NCCL_NAN_CHECK", "torch", "debugging", YES_NO, leftover=YES),
    Knob("TORCH_NCCL_AVOID_RECORD_STREAMS", "torch", "debugging", YES_NO),
    Knob("TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK", "torch", "", YES_NO),
    Knob("TORCH_NCCL_USE_COMM_NONBLOCKING", "torch"),
    Knob("TORCH_NCCL_NONBLOCKING_TIMEOUT", "torch", "", NUMBER),
    Knob("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "torch", instead="TORCH_FR_DUMP_TEMP_FILE"),
    Knob("TORCH_FR_DUMP_TEMP_FILE", "torch"),
    Knob("TORCH_FR_DUMP_DYNAMIC_FILE_NAME", "torch", "", YES_NO),
    Knob("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "torch"),
    Knob("TORCH_NCCL_ABORT_IN_DESTROY_PG", "torch", "", YES_NO, removed="2.14"),
    Knob("TORCH_DISTRIBUTED_DEBUG", "torch", "debugging", "(?i:OFF|INFO|DETAIL)", leftover="(?i:DETAIL)"),
    Knob("TORCH_GLOO_LAZY_INIT", "torch", "", YES_NO),
    Knob("TORCH_DIST_USE_NCCL2", "torch"),
    Knob("TORCHELASTIC_USE_AGENT_STORE", "torch", "", "True|False"),
    Knob("GLOO_SOCKET_IFNAME", "torch", "site", "[A-Za-z0-9_.@-]+(,[A-Za-z0-9_.@-]+)*"),
    Knob("GLOO_DEVICE_TRANSPORT", "torch", "site", "TCP|TCP_TLS|IBVERBS|UV"),
    Knob(
        "NCCL_ASYNC_ERROR_HANDLING",
        "torch-old",
        deprecated="2.2",
        instead="TORCH_NCCL_ASYNC_ERROR_HANDLING",
        leftover="0",
    ),
    Knob("NCCL_BLOCKING_WAIT", "torch-old", deprecated="2.2", instead="TORCH_NCCL_BLOCKING_WAIT", leftover=YES),
    Knob("NCCL_DESYNC_DEBUG", "torch-old", deprecated="2.2", instead="TORCH_NCCL_DESYNC_DEBUG", leftover=YES),
    Knob("NCCL_ENABLE_TIMING", "torch-old", deprecated="2.2", instead="TORCH_NCCL_ENABLE_TIMING", leftover=YES),
    Knob(
        "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
        "torch-old",
        deprecated="2.2",
        instead="TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
    ),
    Knob("CUDA_LAUNCH_BLOCKING", "cuda", leftover="1"),
)
