# What play, bench and everything have in common; they set `here`, their folder, and source this.
# shellcheck shell=bash disable=SC2034,SC2154

# The name that messages begin with.
myself=$(basename -- "$0")

fail() { # EXIT_CODE TEXT
  echo "$myself: $2" >&2
  exit "$1"
}

# A tool of this machine's, with this machine's libraries.
machine_libraries=${LD_LIBRARY_PATH-}
on_the_machine() { env LD_LIBRARY_PATH="$machine_libraries" "$@"; }

# The programs and libraries that were packed here, before those of the machine.
use_packed() {
  export PATH=$here/bin:$PATH LD_LIBRARY_PATH=$here/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # Where Open MPI finds itself; PMIx is within it.
  export OPAL_PREFIX=$here/mpi OPAL_PKGLIBDIR=$here/mpi/plugins OPAL_PKGDATADIR=$here/mpi/share
  export PMIX_INSTALL_PREFIX=$here/mpi PMIX_MCA_mca_base_component_show_load_errors=0
  export OMPI_MCA_plm=isolated  # it starts ranks on this host alone, without ssh
}

# NCCL is not packed: that of the machine, or of the PyTorch there. Returns 1 where there is none.
find_nccl() { # FILE that needs it
  local found
  [[ $(ldd "$1" 2>/dev/null) == *libnccl*'not found'* ]] || return 0
  found=$(on_the_machine python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")' 2>/dev/null) || return 1
  export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$found
}

# MPI through the host's memory under NCCL's names.
use_staged() { # FOLDER
  [ -e "$1" ] || fail 3 "--transport host: it was not packed, since the packing machine had no NCCL"
  export LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

no_nccl='this machine has no NCCL: expected libnccl.so.2 among its libraries, or the Python package nvidia-nccl'
# What a rank's command is after: it passes for a host of its own, since NCCL refuses two ranks of one host on one device.
# shellcheck disable=SC2016  # expanded by the rank
host_of_its_own='NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK exec "$0" "$@"'

# Starts ranks as the course does (common/runner/mpirun.cpp). --foreground: what ends this script ends them.
ranks() { # SECONDS COUNT WORD...
  local root=()
  [ "$EUID" != 0 ] || root=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  env "${root[@]}" OMPI_MCA_btl=^tcp,uct,openib,ofi OMPI_MCA_pml=ob1 HWLOC_COMPONENTS=-pci,-linuxio,-opencl,-gl EVENT_NOEPOLL=1 \
    OMPI_MCA_opal_event_include=poll OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma,xpmem \
    timeout --foreground -k 2 "$1" mpirun -n "$2" --map-by :OVERSUBSCRIBE --bind-to none "${@:3}"
}
