package master

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Entries of an access control list as Linux keeps it with a file (linux/posix_acl.h,
// posix_acl_xattr.h).
const (
	aclVersion   = 2
	aclOwner     = 0x01
	aclUser      = 0x02
	aclGroup     = 0x04
	aclMask      = 0x10
	aclOther     = 0x20
	aclReadWrite = 6
	aclNobody    = 0xffffffff
)

const accessAttribute = "system.posix_acl_access"

// admit lets users read and write a file, in addition to its owner and group.
func admit(file string, users []string) error {
	var ids []uint32
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue // users unknown to the host reach the socket through its group
		}
		id, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
		ids = append(ids, uint32(id))
	}
	slices.Sort(ids)
	if err := unix.Setxattr(file, accessAttribute, accessList(slices.Compact(ids)), 0); err != nil {
		return fmt.Errorf("admit users to %s: %w", file, err)
	}
	return nil
}

// admitNobody removes the access that admit granted.
func admitNobody(file string) error {
	err := unix.Removexattr(file, accessAttribute)
	if err == nil || errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return fmt.Errorf("shut users out of %s: %w", file, err)
}

// admittedTo returns a description of who may connect to a socket, for comparison.
func admittedTo(file string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	list := make([]byte, 64<<10)
	n, err := unix.Getxattr(file, accessAttribute, list)
	if err != nil {
		n = 0 // no access list
	}
	return info.Mode().String() + string(list[:n]), nil
}

func accessList(ids []uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	entry := func(tag, perm uint16, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	entry(aclOwner, aclReadWrite, aclNobody)
	for _, id := range ids {
		entry(aclUser, aclReadWrite, id)
	}
	entry(aclGroup, aclReadWrite, aclNobody)
	entry(aclMask, aclReadWrite, aclNobody)
	entry(aclOther, 0, aclNobody)
	return b
}
