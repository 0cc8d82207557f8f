# A Docker engine of the benchmark's own: its socket, data, containerd and cgroup are its own, and nothing of it is left.
#
#   sh docker.sh DIRECTORY CGROUP
#
# Starts containerd and dockerd below DIRECTORY, imports a root file system of a shell and a few programs as the image
# `small`, says `ready`, and waits for the end of its input. Then, and also when something goes wrong, everything that
# was started is ended and removed. Whatever it says instead of `ready` is why there is no engine.
place=$1
cgroup=$2
export DOCKER_HOST="unix://$place/docker.sock"
engine= containers=
# These places are the engine's own, wherever it is told to be.
fixed="/run/containerd/s /run/containerd /run/docker/plugins /run/docker"
for directory in $fixed; do
    [ -e "$directory" ] || ours="${ours:-} $directory"
done

end() {
    trap - EXIT
    if [ -n "$engine" ]; then
        docker ps --all --quiet 2>/dev/null | xargs --no-run-if-empty docker rm --force >/dev/null 2>&1
        kill "$engine" 2>/dev/null
        wait "$engine"
    fi
    if [ -n "$containers" ]; then
        kill "$containers" 2>/dev/null
        wait "$containers"
    fi
    # What looks after a container outlives a containerd that was killed; its command line names our socket.
    for process in /proc/[0-9]*; do
        if tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep --quiet "containerd-shim.*$place/"; then
            kill -9 "${process#/proc/}" 2>/dev/null
        fi
    done
    for _ in 1 2 3; do
        awk -v place="$place/" 'index($5, place) == 1 { print $5 }' /proc/self/mountinfo | sort --reverse |
            xargs --no-run-if-empty umount 2>/dev/null
    done
    find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" -exec rmdir {} + 2>/dev/null
    rmdir ${ours:-} 2>/dev/null
    rm -rf "$place"
}

give_up() {
    echo "$1"
    exit 1
}

# A shell, what its commands need, and nothing else.
make_root() {
    mkdir -p "$place/root/bin" "$place/root/tmp" "$place/root/etc" "$place/root/proc" "$place/root/dev" "$place/root/sys"
    for name in sh true cat sleep test; do
        found=$(readlink -f "$(command -v "$name" || echo "/usr/bin/$name")")
        # Builtins of the shell have a program too.
        [ -x "$found" ] || found=$(readlink -f "/usr/bin/$name")
        cp "$found" "$place/root/bin/$name"
        ldd "$found" | grep --only-matching '/[^ ]*' | while read -r library; do
            mkdir -p "$place/root$(dirname "$library")"
            cp --dereference "$library" "$place/root$library"
        done
    done
}

trap end EXIT
# The benchmark decides when it is over, not a key on its terminal.
trap : INT HUP TERM

for program in docker dockerd containerd; do
    command -v "$program" >/dev/null || give_up "$program is not installed (Debian: docker.io)"
done
[ "$(id -u)" = 0 ] || give_up "an engine needs root"

printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >"$place/containerd.toml"
containerd --config "$place/containerd.toml" --address "$place/containerd.sock" --root "$place/containerd" \
    --state "$place/containerd-state" >"$place/containerd.log" 2>&1 </dev/null &
containers=$!
echo '{}' >"$place/docker.json"
dockerd --config-file "$place/docker.json" --host "$DOCKER_HOST" --data-root "$place/data" --exec-root "$place/exec" \
    --pidfile "$place/docker.pid" --containerd "$place/containerd.sock" --iptables=false --ip6tables=false --bridge=none \
    --cgroup-parent "/$cgroup" --exec-opt native.cgroupdriver=cgroupfs >"$place/docker.log" 2>&1 </dev/null &
engine=$!

tries=0
until docker info >/dev/null 2>&1; do
    tries=$((tries + 1))
    kill -0 "$engine" 2>/dev/null || give_up "dockerd ended: $(tail -n 1 "$place/docker.log")"
    [ "$tries" -lt 150 ] || give_up "dockerd did not come up in 30 s: $(tail -n 1 "$place/docker.log")"
    sleep 0.2
done

make_root
tar -C "$place/root" -c . | docker import - small >/dev/null 2>"$place/import.log" ||
    give_up "the image could not be imported: $(tail -n 1 "$place/import.log")"
docker run --rm --network none small true >/dev/null 2>"$place/first.log" ||
    give_up "no container can be run: $(tail -n 1 "$place/first.log")"
echo ready
cat >/dev/null
