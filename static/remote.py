"""The operators that exchange values between processes, which have no kernels.

The executor carries them out: `dygraph.static.transpiler.calls` has a function for each, loaded
when a program first has one. A server's program is one operator that listens.
"""

__all__ = ["LISTEN", "REMOTE", "listens", "talks"]

LISTEN = "listen_and_serv"
REMOTE = frozenset(
    "send recv send_barrier fetch_barrier split_byref split_ids merge_ids prefetch "
    "distributed_lookup_table lookup_sparse_table fake_init checkpoint_notify "
    "gen_nccl_id c_gen_nccl_id c_comm_init "
    "c_allreduce_sum c_allreduce_max c_allreduce_min c_allreduce_prod c_broadcast c_allgather "
    "c_reducescatter c_sync_calc_stream c_sync_comm_stream allreduce broadcast".split()
)


def talks(program):
    """Whether block 0 has operators that exchange values."""
    return any(op.type in REMOTE for op in program.global_block().ops)


def listens(program):
    """Whether it is the program of a server."""
    return any(op.type == LISTEN for op in program.global_block().ops)
