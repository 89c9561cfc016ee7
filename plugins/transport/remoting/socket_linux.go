package remoting

import (
	"net"
	"syscall"
	"unsafe"
)

const canTryWrite = true

// iovecsMax is how many slices one system call writes. The kernel's limit is 1024.
const iovecsMax = 64

type iovecs [iovecsMax]syscall.Iovec

// tryWritev writes as much of vecs to the non-blocking fd as the kernel takes now. A full socket is not an error.
func tryWritev(fd uintptr, vecs net.Buffers, iov *iovecs) (int, error) {
	total := 0
	for len(vecs) > 0 {
		want, k := 0, 0
		for k < len(vecs) && k < iovecsMax {
			iov[k].Base = unsafe.SliceData(vecs[k])
			iov[k].SetLen(len(vecs[k]))
			want += len(vecs[k])
			k++
		}
		n, errno := writev(fd, iov[:k])
		clear(iov[:k])
		switch errno {
		case 0:
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return total, nil
		default:
			return total, errno
		}
		total += n
		if n < want {
			return total, nil
		}
		vecs = vecs[k:]
	}
	return total, nil
}

func writev(fd uintptr, iov []syscall.Iovec) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
