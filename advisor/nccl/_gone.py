"""Variables that nothing reads any more, or nothing ever read.

Sources: src/ of NVIDIA/nccl, tags 2.3.5 to 2.30.7; names that nothing reads come from articles and public scripts.
"""

from advisor.nccl._knob import Knob

GONE: tuple[Knob, ...] = (
    Knob("NCCL_AGG_ALLOC_MODE", "removed", removed="after 2.12.12"),
    Knob("NCCL_AGG_CHANNEL_SIZE", "removed", removed="2.20"),
    Knob("NCCL_CHECKS_DISABLE", "removed", removed="2.3"),
    Knob("NCCL_CREATE_THREAD_CONTEXT", "removed", removed="2.30.7"),
    Knob("NCCL_CUDA_PATH", "removed", removed="2.21"),
    Knob("NCCL_GDRCOPY_TAIL_ENABLE", "removed", removed="after 2.11.4"),
    Knob("NCCL_GIN_COUNTER_POOL_SIZE", "removed", removed="after 2.29.7"),
    Knob("NCCL_GIN_EXCLUSIVE_CONTEXTS", "removed", removed="after 2.29.7"),
    Knob("NCCL_GIN_NCONTEXTS", "removed", removed="after 2.29.7"),
    Knob("NCCL_GIN_SIGNAL_POOL_SIZE", "removed", removed="after 2.29.7"),
    Knob("NCCL_GRAPH", "removed", removed="2.6", instead="NCCL_GRAPH_FILE"),
    Knob("NCCL_IB_CUDA_SUPPORT", "removed", removed="2.4", instead="NCCL_NET_GDR_LEVEL"),
    Knob("NCCL_IB_GDR_LEVEL", "removed", removed="2.4", instead="NCCL_NET_GDR_LEVEL"),
    Knob("NCCL_LL_THRESHOLD", "removed", removed="2.5"),
    Knob("NCCL_MNNVL", "removed", removed="2.21", instead="NCCL_MNNVL_ENABLE"),
    Knob("NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", "removed", removed="2.16.5", instead="NCCL_ALLOC_P2P_NET_LL_BUFFERS"),
    Knob("NCCL_PROXY_PROFILE", "removed", removed="2.23", instead="NCCL_PROFILER_PLUGIN"),
    Knob("NCCL_RINGS", "removed", removed="2.5", instead="NCCL_GRAPH_FILE"),
    Knob("NCCL_SHARED_BUFF_COUNT", "removed", removed="after 2.8.4"),
    Knob("NCCL_SHM_MEMCPY_MODE", "removed", removed="2.30.7"),
    Knob("NCCL_SHM_USE_CUDA_MEMCPY", "removed", removed="2.30.7"),
    Knob("NCCL_SINGLE_RING_THRESHOLD", "removed", removed="2.3"),
    Knob("NCCL_THREAD_THRESHOLD", "removed", removed="2.5", instead="NCCL_THREAD_THRESHOLDS"),
    Knob("NCCL_TREE_THRESHOLD", "removed", removed="2.5"),
    Knob("NCCL_WORK_FIFO_DEPTH", "removed", removed="2.22", instead="NCCL_WORK_FIFO_BYTES"),
    Knob("NCCL_ABORT_ON_ERROR", "unread"),
    Knob("NCCL_IB_GID_IDX", "unread", instead="NCCL_IB_GID_INDEX"),
    Knob("NCCL_MIN_CHANNELS", "unread", instead="NCCL_MIN_CTAS"),
    Knob("NCCL_RING", "unread"),
    Knob("NCCL_SOCKET_TIMEOUT", "unread", instead="init_process_group(timeout=...)"),
    Knob("NCCL_TIMEOUT", "unread", instead="init_process_group(timeout=...)"),
    Knob("NCCL_TRACE_FILE", "unread", instead="NCCL_DEBUG_FILE"),
)
