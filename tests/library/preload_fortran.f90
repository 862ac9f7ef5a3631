! SPDX-License-Identifier: Apache-2.0
! Fortran has its own addresses of MPI_IN_PLACE and MPI_BOTTOM. libtutti_mpi.so must recognise them.
program preload_fortran
    use mpi
    implicit none
    integer :: ierror, rank, ranks, i, wrong, all_wrong, type
    integer :: numbers(100), gathered(400), word
    double precision :: sums(1000)
    integer(kind=MPI_ADDRESS_KIND) :: place(1)

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    wrong = 0
    do i = 1, 20
        sums = rank + i
        call MPI_Allreduce(MPI_IN_PLACE, sums, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
        if (any(sums /= ranks * (ranks - 1) / 2 + ranks * i)) wrong = wrong + 1

        numbers = -1
        if (rank == mod(i, ranks)) numbers = i
        call MPI_Bcast(numbers, 100, MPI_INTEGER, mod(i, ranks), MPI_COMM_WORLD, ierror)
        if (any(numbers /= i)) wrong = wrong + 1

        gathered = -1
        gathered(rank * 100 + 1:rank * 100 + 100) = rank
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, gathered, 100, MPI_INTEGER, MPI_COMM_WORLD, ierror)
        if (sum(gathered(1:100 * ranks)) /= 100 * ranks * (ranks - 1) / 2) wrong = wrong + 1

        numbers = rank + 1
        if (rank == 0) then
            call MPI_Reduce(MPI_IN_PLACE, numbers, 100, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
            if (any(numbers /= ranks)) wrong = wrong + 1
        else
            call MPI_Reduce(numbers, numbers, 100, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
            if (any(numbers /= rank + 1)) wrong = wrong + 1
        end if
    end do

    word = 0
    if (rank == 0) word = 17
    call MPI_Get_address(word, place(1), ierror)
    call MPI_Type_create_hindexed(1, (/1/), place, MPI_INTEGER, type, ierror)
    call MPI_Type_commit(type, ierror)
    call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierror)
    call MPI_Type_free(type, ierror)
    if (word /= 17) wrong = wrong + 1

    call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(i0, a)', all_wrong, ' wrong'
    call MPI_Finalize(ierror)
end program
