package master

import (
	"encoding/binary"
	"fmt"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Entries of an access control list as Linux keeps it with a file (linux/posix_acl.h, posix_acl_xattr.h).
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

// admit lets users read and write a file, beside its owner and its group.
func admit(file string, users []string) error {
	var ids []uint32
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue // who is in no file of the system reaches the socket by its group
		}
		id, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
		ids = append(ids, uint32(id))
	}
	slices.Sort(ids)
	if err := unix.Setxattr(file, "system.posix_acl_access", accessList(slices.Compact(ids)), 0); err != nil {
		return fmt.Errorf("admit users to %s: %w", file, err)
	}
	return nil
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
