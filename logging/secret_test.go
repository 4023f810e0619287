package logging

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const testKey = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nqqqq\n-----END RSA PRIVATE KEY-----"

func TestSecretsAreHidden(t *testing.T) {
	path := logPath(t)
	log, console := newLog(t, Settings{ConsoleFormat: "%(name)s %(message)s", File: path, FileFormat: "json"})
	log.Hide("hunter22", "line one\nline two", `say "it"`, "abc", "", "hunter22-and-more")
	for _, tt := range []struct{ name, message, want string }{
		{"as it is", "the password is hunter22.", "the password is **********."},
		{"the longer one first", "hunter22-and-more", "**********"},
		{"twice", "hunter22hunter22", "********************"},
		{"several lines", "<line one\nline two>", "<**********>"},
		{"one line of several", "<line two>", "<**********>"},
		{"quoted by Go", fmt.Sprintf("%q", "line one\nline two"), `"**********"`},
		{"quoted by Python", `'say "it"' and "say \"it\""`, `'**********' and "**********"`},
		{"too short to hide", "abc", "abc"},
		{"a private key", "key: " + testKey + " end", "key: ********** end"},
		{"one in quotes", fmt.Sprintf("%q", testKey), `"**********"`},
		{"one without an end", strings.TrimSuffix(testKey, "-----"), "**********"},
		{"one without anything", "-----BEGIN PRIVATE KEY", "**********"},
		{"a public key", "-----BEGIN PUBLIC KEY-----x-----END PUBLIC KEY-----",
			"-----BEGIN PUBLIC KEY-----x-----END PUBLIC KEY-----"},
		{"a key behind it", "-----BEGIN PUBLIC KEY-----x " + testKey + testKey,
			"-----BEGIN PUBLIC KEY-----x ********************"},
	} {
		log.Warn(tt.message)
		wantText(t, tt.name, console.take(), "salt.master "+tt.want+"\n")
	}
	log.WithError(errors.New("hunter22")).WithField("k", []string{"hunter22"}).WithField("name",
		"hunter22").WithField("jid", "hunter22").Warn("x")
	wantText(t, "fields", console.take(), "********** x: ********** [k [**********]] [jid **********]\n")
	if text := readText(t, path); strings.Contains(text, "hunter22") ||
		strings.Contains(text, "qqqq") || strings.Contains(text, "line two") {
		t.Errorf("log file: %s", text)
	}
}

func TestHiddenValuesAreBounded(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(message)s"})
	log.Hide("the first", "the second")
	log.Hide("the first")
	for i := range maxSecrets - 1 {
		log.Hide(fmt.Sprint("value ", i, "."))
	}
	log.Warn("the first, the second, value 7.")
	wantText(t, "the oldest goes", console.take(), "**********, the second, **********\n")
	log.Hide(strings.Repeat("x", maxHidden))
	log.Warn("value 1022. ", strings.Repeat("x", maxHidden))
	if got := console.take(); strings.Contains(got, "x") || !strings.HasPrefix(got, "value 1022. *") {
		t.Errorf("one that is as large as all: %.80q", got)
	}
}

func BenchmarkLine(b *testing.B) {
	for _, secrets := range []int{0, 1, 100, 1000} {
		b.Run(fmt.Sprintf("%d hidden", secrets), func(b *testing.B) {
			log, err := New(Settings{FileLevel: "quiet", ConsoleFormat: defaultFileFormat},
				Options{Console: io.Discard})
			if err != nil {
				b.Fatal(err)
			}
			for i := range secrets {
				log.Hide(fmt.Sprintf("%x-secret-%d", i*7919, i))
			}
			b.ReportAllocs()
			for b.Loop() {
				log.Warn("The minion web1.example.org returned from job 20231114221320000000")
			}
		})
	}
}
