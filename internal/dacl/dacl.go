// Package dacl compares and changes access control lists of files on Windows, and reads and sets
// the owners of files there (salt/utils/win_dacl.py).
//
// The comparison of lists runs on every system. Accounts are SIDs in text form, such as
// S-1-5-32-544. Functions that read and write files exist on Windows only.
package dacl

import (
	"fmt"
	"slices"
	"strings"
)

// A List is the access control list of a file.
type List struct {
	Entries []Entry
	// Inherits tells that entries of the directory above apply too. They are in Entries.
	Inherits bool
}

// An Entry grants or denies rights to one account.
type Entry struct {
	SID  string
	Deny bool
	Mask uint32
	// Flags say what the entry of a directory applies to, as in the header of an ACE.
	Flags uint8
	// Inherited tells that the entry comes from the directory above.
	Inherited bool
}

// Kind returns the word for the entry in results: grant or deny.
func (e Entry) Kind() string {
	if e.Deny {
		return "deny"
	}
	return "grant"
}

// The basic rights of a file, by the names in win_perms.
var basic = []right{
	{"full_control", 0x1f01ff, "Full control"},
	{"modify", 0x1301bf, "Modify"},
	{"read_execute", 0x1200a9, "Read & execute"},
	{"read", 0x120089, "Read"},
	{"write", 0x100116, "Write"},
	{"", 0x1201bf, "Read & execute with write"},
}

// The advanced rights of a file. Several have one name for directories and one for files.
var advanced = []right{
	{"list_folder", 0x1, "List folder / read data"},
	{"read_data", 0x1, ""},
	{"create_files", 0x2, "Create files / write data"},
	{"write_data", 0x2, ""},
	{"create_folders", 0x4, "Create folders / append data"},
	{"append_data", 0x4, ""},
	{"read_ea", 0x8, "Read extended attributes"},
	{"write_ea", 0x10, "Write extended attributes"},
	{"traverse_folder", 0x20, "Traverse folder / execute file"},
	{"execute_file", 0x20, ""},
	{"delete_subfolders_files", 0x40, "Delete subfolders and files"},
	{"read_attributes", 0x80, "Read attributes"},
	{"write_attributes", 0x100, "Write attributes"},
	{"delete", 0x10000, "Delete"},
	{"read_permissions", 0x20000, "Read permissions"},
	{"change_permissions", 0x40000, "Change permissions"},
	{"take_ownership", 0x80000, "Take ownership"},
}

type right struct {
	name string
	mask uint32
	text string
}

// scopes are what an entry of a directory applies to.
var scopes = []right{
	{"this_folder_only", 0x0, "This folder only"},
	{"this_folder_files", 0x1, "This folder and files"},
	{"this_folder_subfolders", 0x2, "This folder and subfolders"},
	{"this_folder_subfolders_files", 0x3, "This folder, subfolders and files"},
	{"files_only", 0x9, "Files only"},
	{"subfolders_only", 0xa, "Subfolders only"},
	{"subfolders_files", 0xb, "Subfolders and files only"},
}

// Mask returns the bits of a basic right, or of advanced rights together.
func Mask(names []string, isBasic bool) (uint32, error) {
	table, mask := advanced, uint32(0)
	if isBasic {
		table = basic
	}
	for _, name := range names {
		i := slices.IndexFunc(table, func(r right) bool {
			return name != "" && r.name == strings.ToLower(name)
		})
		if i < 0 {
			return 0, fmt.Errorf("Invalid permission specified: %s", name) //nolint:staticcheck // Salt's text
		}
		mask |= table[i].mask
	}
	return mask, nil
}

// DefaultScope is the name of the scope of entries without applies_to.
const DefaultScope = "this_folder_subfolders_files"

// Scope returns the flags for a value of applies_to.
func Scope(name string) (uint8, error) {
	for _, s := range scopes {
		if s.name == name {
			return uint8(s.mask), nil
		}
	}
	return 0, fmt.Errorf("Invalid 'applies_to' for type file") //nolint:staticcheck,perfsprint // Salt's text
}

// ScopeText returns the text for what an entry applies to.
func (e Entry) ScopeText() string {
	for _, s := range scopes {
		if uint8(s.mask) == e.Flags&0xf {
			return s.text
		}
	}
	return "Unknown propagation"
}

// Rights returns the texts for the rights of an entry: the text of a basic right, or a list.
func (e Entry) Rights() any {
	for _, r := range basic {
		if r.mask == e.Mask {
			return r.text
		}
	}
	list := []any{}
	for _, r := range advanced {
		if r.text != "" && e.Mask&r.mask == r.mask {
			list = append(list, r.text)
		}
	}
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if len(list) == 0 {
		list = append(list, fmt.Sprintf("Undefined Permission: %d", e.Mask))
	}
	return list
}

// Own returns the entry of the file itself for an account.
func (l List) Own(sid string, deny bool) (Entry, bool) {
	for _, e := range l.Entries {
		if e.SID == sid && e.Deny == deny && !e.Inherited {
			return e, true
		}
	}
	return Entry{}, false
}

// With returns the list with one entry of the file itself for its account instead of those there.
func (l List) With(e Entry) List {
	out := l.Without(e.SID, e.Deny)
	out.Entries = append(out.Entries, e)
	return out
}

// Without returns the list without the entries of the file itself for an account.
func (l List) Without(sid string, deny bool) List {
	return List{slices.DeleteFunc(slices.Clone(l.Entries), func(e Entry) bool {
		return e.SID == sid && e.Deny == deny && !e.Inherited
	}), l.Inherits}
}

// Ordered returns the entries of the file itself in the order that Windows expects: those that deny
// first.
func (l List) Ordered() []Entry {
	own := slices.DeleteFunc(slices.Clone(l.Entries), func(e Entry) bool { return e.Inherited })
	slices.SortStableFunc(own, func(a, b Entry) int {
		switch {
		case a.Deny == b.Deny:
			return 0
		case a.Deny:
			return -1
		}
		return 1
	})
	return own
}

// equal reports whether two lists say the same of a file.
func (l List) equal(o List) bool {
	return l.Inherits == o.Inherits && slices.Equal(l.Ordered(), o.Ordered())
}
