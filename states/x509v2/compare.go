package x509v2

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

// has reports whether an invocation error's text contains a text.
func has(err error, text string) bool {
	return loader.KindOf(err) == loader.KindInvocation && strings.Contains(err.Error(), text)
}

// names adds a change if a name differs from the desired one.
func names(changes *data.Map, word string, now, wanted asn1.RawValue) error {
	is, err := certificate.ParseName(now.FullBytes)
	if err != nil {
		return loader.Execution("%w", err)
	}
	if wanted.FullBytes == nil {
		return loader.Exception("AttributeError",
			"'NoneType' object has no attribute 'rfc4514_string'")
	}
	want, err := certificate.ParseName(wanted.FullBytes)
	if err != nil {
		return loader.Execution("%w", err)
	}
	if !is.Equal(want) {
		changes.Set(word, want.String())
	}
	return nil
}

// digest adds a change if a signature uses another hash. A signature without a hash of its own is
// accepted.
func digest(changes *data.Map, id pkix.AlgorithmIdentifier, wanted, asked any) error {
	hash, err := draft.Digest(wanted)
	if err != nil {
		return err
	}
	if is, ok := certificate.HashOf(id); ok && is != hash {
		changes.Set("digest", asked)
	}
	return nil
}

// extensions adds the extensions that are missing, different, or superfluous.
func extensions(changes *data.Map, now, wanted []pkix.Extension) {
	added, changed, removed := []any{}, []any{}, []any{}
	for _, x := range wanted {
		is := certificate.ExtensionOf(now, x.Id)
		switch {
		case is == nil:
			added = append(added, extensionWord(x))
		case is.Critical != x.Critical || !bytes.Equal(is.Value, x.Value):
			changed = append(changed, extensionWord(x))
		}
	}
	for _, x := range now {
		if certificate.ExtensionOf(wanted, x.Id) == nil {
			removed = append(removed, extensionWord(x))
		}
	}
	if len(added)+len(changed)+len(removed) > 0 {
		changes.Set("extensions", data.NewMap("added", added, "changed", changed,
			"removed", removed))
	}
}

func extensionWord(x pkix.Extension) string {
	if word := certificate.Word(x.Id.String()); word != "" {
		return word
	}
	return "Unknown OID"
}

// soon reports whether a time is less than this many days away.
func soon(at time.Time, days int) bool { return at.Before(time.Now().AddDate(0, 0, days)) }

// only reports whether changes has no keys other than these.
func only(changes *data.Map, words ...string) bool {
	for k := range changes.All() {
		found := false
		for _, word := range words {
			found = found || k == word
		}
		if !found {
			return false
		}
	}
	return true
}
