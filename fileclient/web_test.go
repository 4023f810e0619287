package fileclient

import "testing"

func TestRedact(t *testing.T) {
	for url, want := range map[string]string{
		"http://u:p@host/a":         "http://<redacted>@host/a",
		"HTTPS://u:p/w@host/a":      "HTTPS://<redacted>@host/a",
		"http://host/a":             "http://host/a",
		"ftp://u:p@host/a@b":        "ftp://host/a@b",
		"salt://a@b":                "salt://a@b",
		"/srv/a@b":                  "/srv/a@b",
		"s3://key:secret@bucket?a=": "s3://bucket?a=",
	} {
		if got := Redact(url); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
	}
}
