# Sourced by the scripts that build images: lock_of IMAGE prints the lock of an image, a file in requirements/.

#: Locks of what builds an image and does not go into it.
TOOL_LOCKS="build image-tools"
IMAGES="cli server-cpu server-gpu gateway worker review"

lock_of() {
    case $1 in
        cli) echo cli ;;
        server-cpu) echo serve ;;
        server-gpu) echo image ;;
        gateway) echo gateway ;;
        worker) echo worker ;;
        review) echo review ;;
        *)
            echo "no image is called '$1'; there are: $IMAGES" >&2
            return 2
            ;;
    esac
}
