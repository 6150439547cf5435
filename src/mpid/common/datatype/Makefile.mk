##
## Copyright (C) by the MPICH-Gpudt authors
##     See COPYRIGHT in top-level directory
##

AM_CPPFLAGS += -I$(top_srcdir)/src/mpid/common/datatype

noinst_HEADERS +=                                    \
    src/include/mpir_ext_gpudt.h                     \
    src/mpid/ch3/include/mpidi_gpudt.h               \
    src/mpid/ch3/include/mpidi_gpudt_alloc.h         \
    src/mpid/ch3/include/mpidi_gpudt_burst.h         \
    src/mpid/ch3/include/mpidi_gpudt_coll.h          \
    src/mpid/ch3/include/mpidi_gpudt_coll_impl.h     \
    src/mpid/ch3/include/mpidi_gpudt_coll_pre.h      \
    src/mpid/ch3/include/mpidi_gpudt_icoll.h         \
    src/mpid/ch3/include/mpidi_gpudt_move_impl.h     \
    src/mpid/ch3/include/mpidi_gpudt_msg.h           \
    src/mpid/ch3/include/mpidi_gpudt_pkt.h           \
    src/mpid/ch3/include/mpidi_gpudt_rma.h           \
    src/mpid/ch3/include/mpidi_gpudt_shm.h           \
    src/mpid/ch3/include/mpidi_gpudt_window.h        \
    src/mpid/ch3/include/mpidi_gpudt_window_impl.h   \
    src/mpid/ch3/include/mpidi_gpudt_winmsg_impl.h   \
    src/mpid/ch3/include/mpidi_pack_cut.h            \
    src/mpid/ch3/include/mpidi_part.h                \
    src/mpid/ch3/include/mpidi_part_impl.h           \
    src/mpid/ch3/include/mpidi_revoked.h             \
    src/mpid/ch3/include/mpidi_rma_large.h           \
    src/mpid/ch3/include/mpidi_rma_short.h           \
    src/mpid/common/datatype/mpidu_gpudt_mapping.h   \
    src/mpid/common/datatype/mpidu_gpudt_offer.h     \
    src/mpid/common/datatype/mpidu_gpudt_pool_name.h \
    src/mpid/common/datatype/mpidu_gpudt_staging.h

mpi_core_sources +=                                  \
    src/mpid/ch3/src/ch3u_gpudt_accumulate.c         \
    src/mpid/ch3/src/ch3u_gpudt_agree.c              \
    src/mpid/ch3/src/ch3u_gpudt_agree_shm.c          \
    src/mpid/ch3/src/ch3u_gpudt_alloc.c              \
    src/mpid/ch3/src/ch3u_gpudt_burst.c              \
    src/mpid/ch3/src/ch3u_gpudt_coll.c               \
    src/mpid/ch3/src/ch3u_gpudt_coll_part.c          \
    src/mpid/ch3/src/ch3u_gpudt_copies.c             \
    src/mpid/ch3/src/ch3u_gpudt_direct.c             \
    src/mpid/ch3/src/ch3u_gpudt_types.c              \
    src/mpid/ch3/src/ch3u_gpudt_eager.c              \
    src/mpid/ch3/src/ch3u_gpudt_end.c                \
    src/mpid/ch3/src/ch3u_gpudt_exchange.c           \
    src/mpid/ch3/src/ch3u_gpudt_expose.c             \
    src/mpid/ch3/src/ch3u_gpudt_icall.c              \
    src/mpid/ch3/src/ch3u_gpudt_icalls.c             \
    src/mpid/ch3/src/ch3u_gpudt_icoll.c              \
    src/mpid/ch3/src/ch3u_gpudt_icoll_mem.c          \
    src/mpid/ch3/src/ch3u_gpudt_iform.c              \
    src/mpid/ch3/src/ch3u_gpudt_iline.c              \
    src/mpid/ch3/src/ch3u_gpudt_kept.c               \
    src/mpid/ch3/src/ch3u_gpudt_known.c              \
    src/mpid/ch3/src/ch3u_gpudt_memory.c             \
    src/mpid/ch3/src/ch3u_gpudt_move.c               \
    src/mpid/ch3/src/ch3u_gpudt_msg.c                \
    src/mpid/ch3/src/ch3u_gpudt_msg_mem.c            \
    src/mpid/ch3/src/ch3u_gpudt_nodes.c              \
    src/mpid/ch3/src/ch3u_gpudt_pcoll.c              \
    src/mpid/ch3/src/ch3u_gpudt_peer.c               \
    src/mpid/ch3/src/ch3u_gpudt_pull.c               \
    src/mpid/ch3/src/ch3u_gpudt_early.c              \
    src/mpid/ch3/src/ch3u_gpudt_push.c               \
    src/mpid/ch3/src/ch3u_gpudt_recv.c               \
    src/mpid/ch3/src/ch3u_gpudt_refuse.c             \
    src/mpid/ch3/src/ch3u_gpudt_regions.c            \
    src/mpid/ch3/src/ch3u_gpudt_rma.c                \
    src/mpid/ch3/src/ch3u_gpudt_segment.c            \
    src/mpid/ch3/src/ch3u_gpudt_self.c               \
    src/mpid/ch3/src/ch3u_gpudt_send.c               \
    src/mpid/ch3/src/ch3u_gpudt_inbound.c            \
    src/mpid/ch3/src/ch3u_gpudt_shared.c             \
    src/mpid/ch3/src/ch3u_gpudt_shm.c                \
    src/mpid/ch3/src/ch3u_gpudt_short.c              \
    src/mpid/ch3/src/ch3u_gpudt_update.c             \
    src/mpid/ch3/src/ch3u_gpudt_window.c             \
    src/mpid/ch3/src/ch3u_gpudt_winlock.c            \
    src/mpid/ch3/src/ch3u_gpudt_winacc.c             \
    src/mpid/ch3/src/ch3u_gpudt_winapt.c             \
    src/mpid/ch3/src/ch3u_gpudt_windead.c            \
    src/mpid/ch3/src/ch3u_gpudt_winmsg.c             \
    src/mpid/ch3/src/ch3u_gpudt_winorigin.c          \
    src/mpid/ch3/src/ch3u_gpudt_wintarget.c          \
    src/mpid/ch3/src/ch3u_gpudt_wintypes.c           \
    src/mpid/ch3/src/ch3u_gpudt_wire.c               \
    src/mpid/ch3/src/ch3u_pack_cut.c                 \
    src/mpid/ch3/src/ch3u_part.c                     \
    src/mpid/ch3/src/ch3u_part_recv.c                \
    src/mpid/ch3/src/ch3u_part_send.c                \
    src/mpid/ch3/src/ch3u_revoked.c                  \
    src/mpid/ch3/src/ch3u_rma_large.c                \
    src/mpid/ch3/src/ch3u_rma_short.c                \
    src/mpid/common/datatype/mpidu_gpudt_file.c      \
    src/mpid/common/datatype/mpidu_gpudt_mapping.c   \
    src/mpid/common/datatype/mpidu_gpudt_offer.c     \
    src/mpid/common/datatype/mpidu_gpudt_staging.c

errnames_txt_files += src/mpid/common/datatype/errnames.txt
