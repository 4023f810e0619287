package grains

import "strings"

// smbios returns the texts of the tables of the firmware by their number: those of the first table
// of each type, as far as type is one of 0 (BIOS), 1 (system) and 2 (board). The raw data are those
// of DSP0134, which tables follow one another without an entry point.
func smbios(raw []byte) map[byte]smbiosTable {
	tables := map[byte]smbiosTable{}
	for len(raw) >= 4 {
		kind, size := raw[0], int(raw[1])
		if size < 4 || size > len(raw) {
			return tables
		}
		formatted := raw[:size]
		texts, rest := smbiosTexts(raw[size:])
		if _, known := tables[kind]; !known && kind <= 2 {
			tables[kind] = smbiosTable{formatted, texts}
		}
		raw = rest
	}
	return tables
}

// A smbiosTable is one table: its bytes, and its texts from number 1.
type smbiosTable struct {
	formatted []byte
	texts     []string
}

// smbiosTexts splits the texts after a table, which two zero bytes end, from what follows.
func smbiosTexts(raw []byte) (texts []string, rest []byte) {
	for len(raw) > 0 && raw[0] != 0 {
		text, after, ended := strings.Cut(string(raw), "\x00")
		texts = append(texts, text)
		if raw = raw[len(raw)-len(after):]; !ended {
			return texts, nil
		}
	}
	if len(texts) == 0 && len(raw) > 0 {
		raw = raw[1:] // a table without texts ends with two zero bytes as well
	}
	if len(raw) > 0 {
		raw = raw[1:]
	}
	return texts, raw
}

// text returns the text whose number stands at an offset of the table, without spaces around it.
func (t smbiosTable) text(offset int) string {
	if offset >= len(t.formatted) {
		return ""
	}
	if n := int(t.formatted[offset]); n > 0 && n <= len(t.texts) {
		return strings.TrimSpace(t.texts[n-1])
	}
	return ""
}

// uuid returns the UUID of the system, or "" if it is not set.
func (t smbiosTable) uuid() string {
	if len(t.formatted) < 0x18 {
		return ""
	}
	b := t.formatted[8:0x18]
	same := true
	for _, c := range b[1:] {
		same = same && c == b[0]
	}
	if same && (b[0] == 0 || b[0] == 0xff) {
		return ""
	}
	order := []int{3, 2, 1, 0, -1, 5, 4, -1, 7, 6, -1, 8, 9, -1, 10, 11, 12, 13, 14, 15}
	const digits = "0123456789abcdef"
	var text strings.Builder
	for _, i := range order {
		if i < 0 {
			text.WriteByte('-')
			continue
		}
		text.WriteByte(digits[b[i]>>4])
		text.WriteByte(digits[b[i]&0xf])
	}
	return text.String()
}
