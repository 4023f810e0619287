package loader

import "testing"

// The texts are those of Python 3.11.
func TestTextThatIsNone(t *testing.T) {
	for raw, want := range map[string]string{
		"ab\xffc":      "byte 0xff in position 2: invalid start byte",
		"\xc3(":        "byte 0xc3 in position 0: invalid continuation byte",
		"\xe2\x82(":    "bytes in position 0-1: invalid continuation byte",
		"ä\xe2\x82":    "bytes in position 2-3: unexpected end of data",
		"ä\xe2":        "byte 0xe2 in position 2: unexpected end of data",
		"\xc0\x80":     "byte 0xc0 in position 0: invalid start byte",
		"\xed\xa0\x80": "byte 0xed in position 0: invalid continuation byte",
	} {
		if got, err := Text([]byte(raw)); got != "" || err == nil ||
			err.Error() != "'utf-8' codec can't decode "+want {
			t.Errorf("Text(%q) = %q, %v, want %s", raw, got, err, want)
		}
	}
	if got, err := Text([]byte("ä\ufffd€")); got != "ä\ufffd€" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
