package grains

import (
	"slices"
	"testing"
)

// firmware is what a virtual machine has: a BIOS, a system, a board without texts, and the end.
var firmware = slices.Concat(
	[]byte{0, 6, 0, 0, 1, 2}, []byte("SeaBIOS\x00rel-1.16 \x00\x00"),
	[]byte{1, 0x1b, 0, 1, 1, 2, 0, 3}, []byte{0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
	[]byte{6, 0, 0}, []byte("QEMU\x00Standard PC\x007F3A\x00\x00"),
	[]byte{2, 8, 0, 2, 0, 0, 0, 0}, []byte{0, 0},
	[]byte{1, 4, 0, 3}, []byte("another\x00\x00"),
	[]byte{127, 4, 0, 4, 0, 0})

func TestSMBIOS(t *testing.T) {
	tables := smbios(firmware)
	for _, tt := range []struct{ name, got, want string }{
		{"name of the BIOS", tables[0].text(4), "SeaBIOS"},
		{"version of the BIOS", tables[0].text(5), "rel-1.16"},
		{"manufacturer", tables[1].text(4), "QEMU"},
		{"product", tables[1].text(5), "Standard PC"},
		{"version, which is not set", tables[1].text(6), ""},
		{"serial number", tables[1].text(7), "7F3A"},
		{"UUID", tables[1].uuid(), "00112233-4455-6677-8899-aabbccddeeff"},
		{"product of the board", tables[2].text(5), ""},
		{"a field beyond the table", tables[2].text(99), ""},
		{"UUID of a table without one", tables[0].uuid(), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if len(tables) != 3 {
		t.Errorf("%d tables, want 3", len(tables))
	}
}

func FuzzSMBIOS(f *testing.F) {
	f.Add(firmware)
	f.Add([]byte{0, 4, 0, 0, 'a'})
	f.Add([]byte{1, 255, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, table := range smbios(raw) {
			for offset := range 256 {
				if len(table.text(offset)) > len(raw) {
					t.Errorf("a text of %d bytes from %d", len(table.text(offset)), len(raw))
				}
			}
			if id := table.uuid(); id != "" && len(id) != 36 {
				t.Errorf("UUID %q", id)
			}
		}
	})
}
