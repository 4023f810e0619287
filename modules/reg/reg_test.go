package reg

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestCast(t *testing.T) {
	for _, tt := range []struct {
		v    any
		kind string
		want string // Python's form, or the error
	}{
		{"a", "REG_SZ", "'a'"},
		{int64(5), "REG_SZ", "'5'"},
		{nil, "REG_EXPAND_SZ", "''"},
		{"a", "REG_BINARY", "b'a'"},
		{[]any{"a", int64(1)}, "REG_MULTI_SZ", "['a', '1']"},
		{"12", "REG_DWORD", "12"},
		{int64(1) << 32, "REG_DWORD", "4294967296 does not fit into REG_DWORD"},
		{int64(1) << 40, "REG_QWORD", "1099511627776"},
		{"a", "REG_WORD", "'REG_WORD'"},
		{int64(1), "REG_MULTI_SZ", "'int' object is not iterable"},
	} {
		v, err := cast(tt.v, tt.kind)
		got := data.Repr(v)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("cast(%v, %s) is %s, want %s", tt.v, tt.kind, got, tt.want)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	for hive, want := range map[string]string{"HKLM": "HKLM", "hkey_users": "HKU", "HKEY_CURRENT_USER": "HKCU"} {
		if p, err := placeOf(hive, `SOFTWARE\Salt`, false); err != nil || p != (place{want, `SOFTWARE\Salt`, true}) {
			t.Errorf("%s: %+v, %v", hive, p, err)
		}
	}
	if _, err := placeOf("HKXX", "", true); err == nil || err.Error() != "Invalid Hive: HKXX" {
		t.Errorf("HKXX: %v", err)
	}
}
