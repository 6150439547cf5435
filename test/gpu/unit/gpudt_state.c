/*
 * Copyright (C) by the MPICH-Gpudt authors
 *     See COPYRIGHT in top-level directory
 */

/* Tests the state of a datatype: built once, shared, freed with the last reference; several threads
 * that build it at the same time get a single one. */

#include "report.h"
#include "unit.h"

#include <pthread.h>

static int uploads_freed;

struct MPII_Gpudt_upload {
    int number;
};

static void upload_free(struct MPII_Gpudt_upload *upload)
{
    uploads_freed += upload->number;
}

static MPIR_Datatype *object_of(MPI_Datatype t)
{
    MPIR_Datatype *dtp;

    MPIR_Datatype_get_ptr(t, dtp);
    return dtp;
}

static MPI_Datatype some_type(int i)
{
    MPI_Datatype t;

    MPI_Type_vector(3 + i, 2, 5 + i, MPI_INT, &t);
    MPI_Type_commit(&t);
    return t;
}

static void test_references(void)
{
    MPI_Datatype t = some_type(0);
    struct MPII_Gpudt_type *a, *b;
    struct MPII_Gpudt_upload upload = { 7 };

    UNIT_CHECK(MPII_Gpudt_type_get(t, &a) == MPI_SUCCESS);
    UNIT_CHECK(MPII_Gpudt_type_get(t, &b) == MPI_SUCCESS);
    UNIT_CHECK(a == b && a == *MPII_Gpudt_type_slot(object_of(t)));
    UNIT_CHECK(a->upload == NULL);
    a->upload = &upload;
    a->upload_free = upload_free;

    /* the datatype is freed while two operations use it */
    MPIR_Gpudt_type_free(object_of(t));
    UNIT_CHECK(*MPII_Gpudt_type_slot(object_of(t)) == NULL);
    MPI_Type_free(&t);
    MPII_Gpudt_type_release(a);
    UNIT_CHECK(uploads_freed == 0);
    UNIT_CHECK(b->serial.size == 24 && b->serial.records[0].count == 3);
    MPII_Gpudt_type_add_ref(b);
    MPII_Gpudt_type_release(b);
    MPII_Gpudt_type_release(b);
    UNIT_CHECK(uploads_freed == 7);

    /* freed without ever being used, and freed twice */
    t = some_type(1);
    MPIR_Gpudt_type_free(object_of(t));
    MPIR_Gpudt_type_free(object_of(t));
    MPI_Type_free(&t);

    /* predefined types: without a datatype object, and with one */
    UNIT_CHECK(MPII_Gpudt_type_get(MPI_DOUBLE, &a) == MPI_SUCCESS);
    UNIT_CHECK(a->serial.size == 8);
    MPII_Gpudt_type_release(a);
    UNIT_CHECK(MPII_Gpudt_type_get(MPI_SHORT_INT, &a) == MPI_SUCCESS);
    UNIT_CHECK(a->serial.size == 6 && a->serial.extent == 8);
    MPII_Gpudt_type_release(a);
    MPIR_Gpudt_type_free(object_of(MPI_SHORT_INT));
}

/* Commit builds the state of a long list, but that of a small type is built at first use. */
static void test_commit(void)
{
    static int displs[1000];
    MPI_Datatype small = some_type(0), list;

    for (int i = 0; i < 1000; i++)
        displs[i] = i * (i + 3);
    MPI_Type_create_indexed_block(1000, 2, displs, MPI_INT, &list);
    MPI_Type_commit(&list);
    MPIR_Gpudt_type_commit(small);
    MPIR_Gpudt_type_commit(list);
    UNIT_CHECK(*MPII_Gpudt_type_slot(object_of(small)) == NULL);
    UNIT_CHECK(*MPII_Gpudt_type_slot(object_of(list)) != NULL);
    MPI_Type_free(&small);
    MPI_Type_free(&list);
}

enum { THREADS = 8, TYPES = 64, ROUNDS = 40 };
static MPI_Datatype shared_types[TYPES];
static struct MPII_Gpudt_type *seen[THREADS][TYPES];
static pthread_barrier_t barrier;

/* All threads use all types; between rounds one thread drops the states. */
static void *use_types(void *arg)
{
    int me = (int) (intptr_t) arg;

    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < TYPES; i++) {
            if (MPII_Gpudt_type_get(shared_types[i], &seen[me][i]) != MPI_SUCCESS ||
                seen[me][i]->serial.records[0].count != 3 + i)
                abort();
        }
        pthread_barrier_wait(&barrier);
        if (me == 0) {
            for (int i = 0; i < TYPES; i++) {
                for (int thread = 1; thread < THREADS; thread++)
                    UNIT_CHECK(seen[thread][i] == seen[0][i]);
                MPIR_Gpudt_type_free(object_of(shared_types[i]));
            }
        }
        /* releases are concurrent with the drop above */
        for (int i = 0; i < TYPES; i++)
            MPII_Gpudt_type_release(seen[me][i]);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    long live;

    for (int i = 0; i < TYPES; i++) {
        shared_types[i] = some_type(i);
        MPII_Gpudt_type_slot(object_of(shared_types[i]));
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    unit_fail_malloc(0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use_types, (void *) (intptr_t) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    live = unit_malloc_live();
    UNIT_CHECK(live <= 0);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&shared_types[i]);
}

int main(void)
{
    int provided;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    test_references();
    test_commit();
    if (report_may_thread("several threads"))
        test_threads();
    MPI_Finalize();
    return unit_done();
}
