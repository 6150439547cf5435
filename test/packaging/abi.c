/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* A range of MPI calls with their results checked, on any number of ranks. The packaging tests
 * build it with an unpatched MPICH and run that binary on this library, so that constants, handles,
 * structures and callbacks are those of the other mpi.h. It must not use extensions of this fork.
 *
 * usage: abi [FOLDER], where FOLDER is for a temporary file (default: $TMPDIR, else /tmp) */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_VALUES 12

static int n_checks, n_errors;
static int rank, n_ranks;

static void check(int good, const char *what, int line)
{
    n_checks++;
    if (!good) {
        n_errors++;
        fprintf(stderr, "abi: rank %d, line %d: not so: %s\n", rank, line, what);
    }
}

#define CHECK(fact_) check((fact_), #fact_, __LINE__)
#define CALL(call_) check((call_) == MPI_SUCCESS, #call_, __LINE__)

static void version_test(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    int major, minor, length, level, flag, *tag_ub;

    CALL(MPI_Get_version(&major, &minor));
    CHECK(major == MPI_VERSION && minor == MPI_SUBVERSION);
    CALL(MPI_Get_library_version(text, &length));
    CHECK(length == (int) strlen(text) && strstr(text, "MPICH") != NULL);
    CALL(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length == (int) strlen(name));
    CALL(MPI_Query_thread(&level));
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag));
    CHECK(flag && *tag_ub >= 32767);
}

static int attr_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    CHECK(comm == MPI_COMM_WORLD && keyval != MPI_KEYVAL_INVALID);
    ++*(int *) extra;
    *(void **) out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void comm_test(void)
{
    MPI_Comm half, copy, cart;
    MPI_Group world_group, half_group;
    int keyval, copies = 0, value = 7, *found, flag, result, half_rank, half_size, from, to;
    int dims[2] = { 0, 0 }, period[2] = { 1, 1 }, length;
    char name[MPI_MAX_OBJECT_NAME];

    CALL(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    CALL(MPI_Comm_rank(half, &half_rank));
    CALL(MPI_Comm_size(half, &half_size));
    CHECK(half_size == (n_ranks + 1 - rank % 2) / 2 && half_rank == half_size - 1 - rank / 2);
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world_group));
    CALL(MPI_Comm_group(half, &half_group));
    CALL(MPI_Group_translate_ranks(half_group, 1, &half_rank, world_group, &result));
    CHECK(result == rank);
    CALL(MPI_Group_free(&half_group));
    CALL(MPI_Group_free(&world_group));
    CALL(MPI_Comm_free(&half));
    CHECK(half == MPI_COMM_NULL);

    CALL(MPI_Comm_create_keyval(attr_copy, MPI_COMM_NULL_DELETE_FN, &keyval, &copies));
    CALL(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value));
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CALL(MPI_Comm_get_attr(copy, keyval, &found, &flag));
    CHECK(copies == 1 && flag && found == &value);
    CALL(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
    CHECK(result == MPI_CONGRUENT);
    CALL(MPI_Comm_set_name(copy, "copy"));
    CALL(MPI_Comm_get_name(copy, name, &length));
    CHECK(length == 4 && strcmp(name, "copy") == 0);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(copy)) == copy);
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
    CALL(MPI_Comm_free_keyval(&keyval));

    CALL(MPI_Dims_create(n_ranks, 2, dims));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, period, 0, &cart));
    CALL(MPI_Cart_shift(cart, 0, 1, &from, &to));
    CHECK(to == (rank + dims[1]) % n_ranks && from == (rank + n_ranks - dims[1]) % n_ranks);
    CALL(MPI_Topo_test(cart, &result));
    CHECK(result == MPI_CART);
    CALL(MPI_Comm_free(&cart));
}

/* Packs 0, 1, 2, ... by a type and compares with the expected n values; frees the type. */
static void type_check(MPI_Datatype type, const int *expected, int n)
{
    int data[4 * N_VALUES], packed[4 * N_VALUES], position = 0, size, i;

    for (i = 0; i < 4 * N_VALUES; i++)
        data[i] = i;
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Type_size(type, &size));
    CHECK(size == n * (int) sizeof(int));
    CALL(MPI_Pack(data, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD));
    CHECK(position == size && memcmp(packed, expected, (size_t) size) == 0);
    memset(data, 0, sizeof(data));
    position = 0;
    CALL(MPI_Unpack(packed, size, &position, data, 1, type, MPI_COMM_WORLD));
    for (i = 0; i < n; i++)
        CHECK(data[expected[i]] == expected[i]);
    CALL(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
}

static void type_test(void)
{
    MPI_Datatype type, member[2] = { MPI_INT, MPI_INT };
    int length[2] = { 2, 1 }, displ[2] = { 5, 1 }, n_ints, n_aints, n_types, combiner;
    int size[2] = { 4, 6 }, subsize[2] = { 2, 3 }, start[2] = { 1, 2 };
    MPI_Aint byte_displ[2] = { 8, 0 }, lb, extent;
    MPI_Count count;

    CALL(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
    CALL(MPI_Type_get_envelope(type, &n_ints, &n_aints, &n_types, &combiner));
    CHECK(combiner == MPI_COMBINER_VECTOR && n_ints == 3 && n_aints == 0 && n_types == 1);
    type_check(type, (const int[]) {0, 1, 4, 5, 8, 9}, 6);
    CALL(MPI_Type_indexed(2, length, displ, MPI_INT, &type));
    type_check(type, (const int[]) {5, 6, 1}, 3);
    CALL(MPI_Type_create_struct(2, length, byte_displ, member, &type));
    type_check(type, (const int[]) {2, 3, 0}, 3);
    CALL(MPI_Type_create_subarray(2, size, subsize, start, MPI_ORDER_C, MPI_INT, &type));
    type_check(type, (const int[]) {8, 9, 10, 14, 15, 16}, 6);
    CALL(MPI_Type_create_resized(MPI_INT, -4, 12, &type));
    CALL(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(lb == -4 && extent == 12);
    type_check(type, (const int[]) {0}, 1);
    CALL(MPI_Type_contiguous_c(INT64_C(3) << 30, MPI_INT, &type));
    CALL(MPI_Type_size_c(type, &count));
    CHECK(count == INT64_C(12) << 30);
    CALL(MPI_Type_free(&type));
    CALL(MPI_Type_get_extent(MPI_DOUBLE_INT, &lb, &extent));
    CHECK(lb == 0 && extent == sizeof(struct { double a; int b; }));
}

static void status_check(MPI_Status * status, int source, int tag, int n)
{
    int count;

    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag);
    CALL(MPI_Get_count(status, MPI_INT, &count));
    CHECK(count == n);
}

static void pt2pt_test(void)
{
    int next = (rank + 1) % n_ranks, prev = (rank + n_ranks - 1) % n_ranks;
    int out[N_VALUES], in[2 * N_VALUES], i, flag;
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Message message;
    MPI_Datatype stride;

    for (i = 0; i < N_VALUES; i++)
        out[i] = 100 * rank + i;
    CALL(MPI_Type_vector(N_VALUES, 1, 2, MPI_INT, &stride));
    CALL(MPI_Type_commit(&stride));
    memset(in, 0, sizeof(in));
    CALL(MPI_Irecv(in, 1, stride, prev, 5, MPI_COMM_WORLD, &request[0]));
    CALL(MPI_Isend(out, N_VALUES, MPI_INT, next, 5, MPI_COMM_WORLD, &request[1]));
    CALL(MPI_Waitall(2, request, status));
    CHECK(request[0] == MPI_REQUEST_NULL && request[1] == MPI_REQUEST_NULL);
    status_check(&status[0], prev, 5, N_VALUES);
    for (i = 0; i < N_VALUES; i++)
        CHECK(in[2 * i] == 100 * prev + i && in[2 * i + 1] == 0);
    CALL(MPI_Type_free(&stride));

    CALL(MPI_Isend(out, 3, MPI_INT, next, 6, MPI_COMM_WORLD, &request[0]));
    CALL(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status[0]));
    status_check(&status[0], prev, 6, 3);
    CALL(MPI_Mrecv(in, 3, MPI_INT, &message, &status[0]));
    CHECK(message == MPI_MESSAGE_NULL && in[2] == 100 * prev + 2);
    CALL(MPI_Wait(&request[0], MPI_STATUS_IGNORE));

    CALL(MPI_Recv_init(in, 1, MPI_INT, prev, 7, MPI_COMM_WORLD, &request[0]));
    CALL(MPI_Ssend_init(out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &request[1]));
    for (i = 0; i < 3; i++) {
        out[0] = 1000 * rank + i;
        CALL(MPI_Startall(2, request));
        CALL(MPI_Waitall(2, request, status));
        CHECK(in[0] == 1000 * prev + i);
    }
    CALL(MPI_Request_free(&request[0]));
    CALL(MPI_Request_free(&request[1]));

    CALL(MPI_Irecv(in, 1, MPI_INT, prev, 8, MPI_COMM_WORLD, &request[0]));
    CALL(MPI_Cancel(&request[0]));
    CALL(MPI_Wait(&request[0], &status[0]));
    CALL(MPI_Test_cancelled(&status[0], &flag));
    CHECK(flag);
    CALL(MPI_Sendrecv(&rank, 1, MPI_INT, next, 9, in, 2, MPI_INT, prev, 9, MPI_COMM_WORLD, status));
    status_check(&status[0], prev, 9, 1);
    CALL(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status[0]));
    status_check(&status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* a op b = 2 a + b: its result depends on the order of the ranks */
static void op_double_add(void *in, void *inout, int *n, MPI_Datatype * type)
{
    int i;

    CHECK(*type == MPI_INT);
    for (i = 0; i < *n; i++)
        ((int *) inout)[i] += 2 * ((int *) in)[i];
}

static void coll_test(void)
{
    int sum = n_ranks * (n_ranks - 1) / 2, value = rank, result = -1, i, expected;
    int *all = calloc((size_t) n_ranks * 4, sizeof(int)), *count = all + n_ranks;
    int *displ = count + n_ranks, *got = displ + n_ranks;
    MPI_Request request;
    MPI_Op op;
    struct { double value; int where; } mine = { -rank, rank }, least;

    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    CALL(MPI_Bcast(&value, 1, MPI_INT, n_ranks - 1, MPI_COMM_WORLD));
    CHECK(value == n_ranks - 1);
    CALL(MPI_Allreduce(&rank, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(result == sum);
    CALL(MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    CHECK(least.where == n_ranks - 1);
    CALL(MPI_Iallreduce_c(&rank, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(result == n_ranks - 1);
    CALL(MPI_Scan(&rank, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(result == rank * (rank + 1) / 2);
    CALL(MPI_Op_create(op_double_add, 0, &op));
    CALL(MPI_Allreduce(&rank, &result, 1, MPI_INT, op, MPI_COMM_WORLD));
    for (i = 1, expected = 0; i < n_ranks; i++)
        expected = 2 * expected + i;
    /* the order of operations is not defined: only with two ranks is there one result */
    CHECK(n_ranks > 2 || result == expected);
    CALL(MPI_Op_free(&op));
    all[rank] = rank + 1;
    CALL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (i = 0; i < n_ranks; i++) {
        CHECK(all[i] == i + 1);
        all[i] = 10 * rank + i;
        count[i] = 1;
        displ[i] = n_ranks - 1 - i;
    }
    CALL(MPI_Alltoallv(all, count, displ, MPI_INT, got, count, displ, MPI_INT, MPI_COMM_WORLD));
    for (i = 0; i < n_ranks; i++)
        CHECK(got[displ[i]] == 10 * i + displ[rank]);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    free(all);
}

static void rma_test(void)
{
    int local[4] = { rank, -1, 0, 0 }, next = (rank + 1) % n_ranks, got = -1, one = 1, old, *base;
    int prev = (rank + n_ranks - 1) % n_ranks, flag, *unit;
    MPI_Win win;

    CALL(MPI_Win_create(local, sizeof(local), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CALL(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == sizeof(int));
    CALL(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    CALL(MPI_Put(&rank, 1, MPI_INT, next, 1, 1, MPI_INT, win));
    CALL(MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    CALL(MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win));
    CALL(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(local[0] == rank && local[1] == prev && got == next);
    CHECK(local[2] == (rank == 0 ? n_ranks : 0) && local[3] == 0);
    CALL(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);

    CALL(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    *base = 0;
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CALL(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win));
    CALL(MPI_Win_unlock(0, win));
    CHECK(old >= 0 && old < n_ranks);
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    CHECK(*base == (rank == 0 ? n_ranks : 0));
    CALL(MPI_Win_unlock(rank, win));
    CALL(MPI_Win_free(&win));
}

static void tool_test(void)
{
    int level, n_cvars, n_pvars, i, verbosity, bind, scope, count, n_read = 0, value[16];
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;

    CALL(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    CALL(MPI_T_cvar_get_num(&n_cvars));
    CALL(MPI_T_pvar_get_num(&n_pvars));
    CHECK(n_cvars > 0 && n_pvars >= 0);
    for (i = 0; i < n_cvars; i++) {
        char name[256], text[2048];
        int name_length = sizeof(name), text_length = sizeof(text);

        CALL(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &enumeration, text,
                                 &text_length, &bind, &scope));
        if (type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT)
            continue;
        CALL(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        CHECK(count >= 1 && count <= 16);
        if (count <= 16)
            CALL(MPI_T_cvar_read(handle, value));
        CALL(MPI_T_cvar_handle_free(&handle));
        n_read++;
    }
    CHECK(n_read > 0);
    CALL(MPI_T_finalize());
}

/* Each rank writes every n-th int through a file view; the whole file is read back and compared. */
static void file_test(const char *folder)
{
    char name[4096] = "";
    int out[N_VALUES], in[N_VALUES], i, place, count, code;
    MPI_Offset size;
    MPI_Datatype view;
    MPI_Status status;
    MPI_File file;

    if (rank == 0)
        snprintf(name, sizeof(name), "%s/abi-%ld.tmp", folder, (long) getpid());
    CALL(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
    code = MPI_File_open(MPI_COMM_WORLD, name,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &file);
    CHECK(code == MPI_SUCCESS);
    if (code != MPI_SUCCESS)
        return;
    for (i = 0; i < N_VALUES; i++)
        out[i] = i * n_ranks + rank;
    CALL(MPI_Type_vector(N_VALUES, 1, n_ranks, MPI_INT, &view));
    CALL(MPI_Type_commit(&view));
    CALL(MPI_File_set_view(file, (MPI_Offset) rank * (int) sizeof(int), MPI_INT, view, "native",
                           MPI_INFO_NULL));
    CALL(MPI_File_write_at_all(file, 0, out, N_VALUES, MPI_INT, &status));
    CALL(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == N_VALUES);
    CALL(MPI_File_sync(file));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_File_get_size(file, &size));
    CHECK(size == (MPI_Offset) sizeof(int) * N_VALUES * n_ranks);
    CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    place = (n_ranks - 1 - rank) * N_VALUES;
    CALL(MPI_File_read_at(file, place, in, N_VALUES, MPI_INT, &status));
    for (i = 0; i < N_VALUES; i++)
        CHECK(in[i] == place + i);
    CALL(MPI_Type_free(&view));
    CALL(MPI_File_close(&file));
    CHECK(access(name, F_OK) != 0 || rank != 0);
}

static void info_test(void)
{
    char value[16], key[MPI_MAX_INFO_KEY];
    int flag, n, length = sizeof(value);
    MPI_Info info, copy;

    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "colour", "blue"));
    CALL(MPI_Info_dup(info, &copy));
    CALL(MPI_Info_delete(info, "colour"));
    CALL(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 0);
    CALL(MPI_Info_get_nthkey(copy, 0, key));
    CHECK(strcmp(key, "colour") == 0);
    CALL(MPI_Info_get_string(copy, "colour", &length, value, &flag));
    CHECK(flag && length == 5 && strcmp(value, "blue") == 0);
    CALL(MPI_Info_free(&info));
    CALL(MPI_Info_free(&copy));
}

static int handled_class;

static void error_handler(MPI_Comm * comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF);
    MPI_Error_class(*code, &handled_class);
}

static void error_test(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int code, class, length, in[2], out[4] = { 1, 2, 3, 4 };
    MPI_Errhandler handler;

    CALL(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
    CHECK(length == (int) strlen(text) && strstr(text, "truncated") != NULL);
    CALL(MPI_Comm_create_errhandler(error_handler, &handler));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    CALL(MPI_Errhandler_free(&handler));
    code = MPI_Send(out, 4, MPI_INT, 1, 1, MPI_COMM_SELF);
    CALL(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_RANK && handled_class == MPI_ERR_RANK);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    code = MPI_Sendrecv(out, 4, MPI_INT, 0, 1, in, 2, MPI_INT, 0, 1, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE);
    CALL(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_TRUNCATE);
    CALL(MPI_Add_error_class(&class));
    CALL(MPI_Add_error_code(class, &code));
    CALL(MPI_Add_error_string(code, "ours"));
    CALL(MPI_Error_string(code, text, &length));
    CHECK(class > MPI_ERR_LASTCODE && strcmp(text, "ours") == 0);
}

static void session_test(void)
{
    MPI_Session session;
    MPI_Group group;
    int size;

    CALL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CALL(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CALL(MPI_Group_size(group, &size));
    CHECK(size == n_ranks);
    CALL(MPI_Group_free(&group));
    CALL(MPI_Session_finalize(&session));
}

int main(int argc, char *argv[])
{
    const char *folder = getenv("TMPDIR");
    int level, sum[2];

    if (argc > 1)
        folder = argv[1];
    CALL(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CALL(MPI_Comm_size(MPI_COMM_WORLD, &n_ranks));
    version_test();
    comm_test();
    type_test();
    pt2pt_test();
    coll_test();
    rma_test();
    tool_test();
    file_test(folder ? folder : "/tmp");
    info_test();
    error_test();
    session_test();

    sum[0] = n_checks;
    sum[1] = n_errors;
    CALL(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
        printf("abi: %d ranks, %d checks, %d failed\n", n_ranks, sum[0], sum[1]);
    CALL(MPI_Finalize());
    return n_errors || sum[1] ? 1 : 0;
}
