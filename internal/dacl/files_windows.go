package dacl

import (
	"errors"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// SID returns the SID of an account, by name or SID.
func SID(account string) (string, error) {
	sid, err := sidOf(account)
	if err != nil {
		return "", err
	}
	return sid.String(), nil
}

func sidOf(account string) (*windows.SID, error) {
	if sid, err := windows.StringToSid(account); err == nil {
		return sid, nil
	}
	sid, _, _, err := windows.LookupSID("", account)
	return sid, err
}

// Name returns the name of an account without its domain, by name or SID, or the SID if it has no
// name. Virtual accounts of services have the prefix NT Service.
func Name(account string) string {
	sid, err := sidOf(account)
	if err != nil {
		return account
	}
	name, _, _, err := sid.LookupAccount("")
	switch text := sid.String(); {
	case err != nil:
		return text
	case strings.HasPrefix(text, "S-1-5-80"):
		return `NT Service\` + name
	}
	return name
}

// Self returns the SID of the user of this process.
func Self() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", err
	}
	return user.User.Sid.String(), nil
}

// Owner returns the SID of the owner of a file.
func Owner(path string) (string, error) {
	sd, err := descriptor(path, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", err
	}
	sid, _, err := sd.Owner()
	if err != nil {
		return "", err
	}
	return sid.String(), nil
}

// Group returns the SID of the primary group of a file.
func Group(path string) (string, error) {
	sd, err := descriptor(path, windows.GROUP_SECURITY_INFORMATION)
	if err != nil {
		return "", err
	}
	sid, _, err := sd.Group()
	if err != nil || sid == nil {
		return "", err
	}
	return sid.String(), nil
}

func descriptor(path string, what windows.SECURITY_INFORMATION) (*windows.SECURITY_DESCRIPTOR, error) {
	return windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, what)
}

// SetOwner gives a file to an account, by name or SID.
func SetOwner(path, account string) error {
	sid, err := sidOf(account)
	if err != nil {
		return err
	}
	return withRights(func() error {
		return windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
			windows.OWNER_SECURITY_INFORMATION, sid, nil, nil, nil)
	})
}

// SetGroup sets the primary group of a file, by name or SID.
func SetGroup(path, account string) error {
	sid, err := sidOf(account)
	if err != nil {
		return err
	}
	return withRights(func() error {
		return windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
			windows.GROUP_SECURITY_INFORMATION, nil, sid, nil, nil)
	})
}

// withRights calls set with the privileges to give files away, as far as this process has them.
func withRights(set func() error) error {
	var token windows.Token
	err := windows.OpenProcessToken(windows.CurrentProcess(),
		windows.TOKEN_ADJUST_PRIVILEGES|windows.TOKEN_QUERY, &token)
	if err != nil {
		return err
	}
	defer token.Close()
	for _, name := range []string{"SeTakeOwnershipPrivilege", "SeRestorePrivilege"} {
		wide, err := windows.UTF16PtrFromString(name)
		if err != nil {
			return err
		}
		p := windows.Tokenprivileges{PrivilegeCount: 1}
		p.Privileges[0].Attributes = windows.SE_PRIVILEGE_ENABLED
		if windows.LookupPrivilegeValue(nil, wide, &p.Privileges[0].Luid) == nil {
			// set reports it if the privilege is missing and was needed
			_ = windows.AdjustTokenPrivileges(token, false, &p, 0, nil, nil)
		}
	}
	return set()
}

// Read returns the access control list of a file.
func Read(path string) (List, error) {
	sd, err := descriptor(path, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return List{}, err
	}
	control, _, err := sd.Control()
	if err != nil {
		return List{}, err
	}
	l := List{Inherits: control&windows.SE_DACL_PROTECTED == 0}
	acl, _, err := sd.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && acl == nil {
		return l, nil
	}
	if err != nil {
		return List{}, err
	}
	for i := range uint32(acl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &ace); err != nil {
			return List{}, err
		}
		if kind := ace.Header.AceType; kind != windows.ACCESS_ALLOWED_ACE_TYPE &&
			kind != windows.ACCESS_DENIED_ACE_TYPE {
			continue // an entry for objects of a directory service, or of audit
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		l.Entries = append(l.Entries, Entry{SID: sid.String(),
			Deny: ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE, Mask: uint32(ace.Mask),
			Flags:     ace.Header.AceFlags &^ windows.INHERITED_ACE,
			Inherited: ace.Header.AceFlags&windows.INHERITED_ACE != 0})
	}
	return l, nil
}

// Write replaces the entries of a file itself, and sets whether it inherits those above it.
func (l List) Write(path string) error {
	var explicit []windows.EXPLICIT_ACCESS
	for _, e := range l.Ordered() {
		sid, err := windows.StringToSid(e.SID)
		if err != nil {
			return err
		}
		mode := windows.ACCESS_MODE(windows.GRANT_ACCESS)
		if e.Deny {
			mode = windows.DENY_ACCESS
		}
		explicit = append(explicit, windows.EXPLICIT_ACCESS{
			AccessPermissions: windows.ACCESS_MASK(e.Mask), AccessMode: mode,
			Inheritance: uint32(e.Flags),
			Trustee: windows.TRUSTEE{TrusteeForm: windows.TRUSTEE_IS_SID,
				TrusteeValue: windows.TrusteeValueFromSID(sid)}})
	}
	acl, err := windows.ACLFromEntries(explicit, nil)
	if err != nil {
		return err
	}
	what := windows.SECURITY_INFORMATION(windows.DACL_SECURITY_INFORMATION)
	if l.Inherits {
		what |= windows.UNPROTECTED_DACL_SECURITY_INFORMATION
	} else {
		what |= windows.PROTECTED_DACL_SECURITY_INFORMATION
	}
	return windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, what, nil, nil, acl, nil)
}

// Copy gives a new file the owner and the access control list of another.
func Copy(to, from string) error {
	was, err := Read(from)
	if err != nil {
		return err
	}
	now, err := Read(to)
	if err != nil {
		return err
	}
	if !now.equal(was) {
		if err := was.Write(to); err != nil {
			return err
		}
	}
	owner, err := Owner(from)
	if err != nil {
		return err
	}
	if own, err := Owner(to); err != nil || own == owner {
		return err
	}
	return SetOwner(to, owner)
}
