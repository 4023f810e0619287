package dacl

import (
	"fmt"
	"slices"
	"testing"
)

const (
	admins = "S-1-5-32-544"
	users  = "S-1-5-32-545"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct {
		basic bool
		names []string
		want  uint32
		err   string
	}{
		{true, []string{"full_control"}, 0x1f01ff, ""},
		{true, []string{"Read_Execute"}, 0x1200a9, ""},
		{false, []string{"read_attributes", "read_ea"}, 0x88, ""},
		{false, []string{"list_folder", "read_data"}, 0x1, ""},
		{true, []string{"read_ea"}, 0, "Invalid permission specified: read_ea"},
		{true, []string{""}, 0, "Invalid permission specified: "},
		{false, []string{"delete", "all"}, 0, "Invalid permission specified: all"},
	} {
		got, err := Mask(tt.names, tt.basic)
		if got != tt.want || fmt.Sprint(err) != fmt.Sprint(tt.err) && (err != nil || tt.err != "") {
			t.Errorf("Mask(%q, %v) = %#x, %v, want %#x, %s", tt.names, tt.basic, got, err, tt.want, tt.err)
		}
	}
}

func TestScope(t *testing.T) {
	flags, err := Scope("subfolders_files")
	if text := (Entry{Flags: flags}).ScopeText(); err != nil || text != "Subfolders and files only" {
		t.Errorf("subfolders_files is %q, %v", text, err)
	}
	if _, err := Scope("everything"); err == nil {
		t.Error("everything is a scope")
	}
}

func TestRights(t *testing.T) {
	for mask, want := range map[uint32]string{
		0x1301bf: "Modify",
		0x88:     "[Read attributes Read extended attributes]",
		0x100000: "[Undefined Permission: 1048576]",
	} {
		if got := fmt.Sprint(Entry{Mask: mask}.Rights()); got != want {
			t.Errorf("rights of %#x are %s, want %s", mask, got, want)
		}
	}
}

// TestWithReplacesOwnEntries checks that only entries of the file itself for the same account and
// kind are replaced.
func TestWithReplacesOwnEntries(t *testing.T) {
	l := List{Entries: []Entry{
		{SID: users, Mask: 1},
		{SID: users, Mask: 2, Inherited: true},
		{SID: users, Mask: 4, Deny: true},
		{SID: admins, Mask: 8},
	}}
	got := l.With(Entry{SID: users, Mask: 16})
	want := []Entry{{SID: users, Mask: 4, Deny: true}, {SID: admins, Mask: 8}, {SID: users, Mask: 16}}
	if !slices.Equal(got.Ordered(), want) {
		t.Errorf("%+v, want %+v", got.Ordered(), want)
	}
	if len(l.Entries) != 4 || l.Entries[0].Mask != 1 {
		t.Errorf("the old list changed: %+v", l)
	}
	if e, ok := got.Own(users, false); !ok || e.Mask != 16 {
		t.Errorf("own entry %+v, %v", e, ok)
	}
	if _, ok := got.Own(admins, true); ok {
		t.Error("an entry that grants counts as one that denies")
	}
}
