// Package certinfo is Salt's beacon cert_info: it reports certificates that expire soon
// (salt/beacons/cert_info.py, with the library pyOpenSSL).
//
// The texts of extensions come from the module x509, as OpenSSL prints them. Without it they are in
// hexadecimal.
package certinfo

import (
	"context"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// notifyDays is how many days before its end a certificate is reported.
const notifyDays = 45

// Plugin returns the beacon cert_info.
func Plugin() loader.Plugin {
	return beacons.Plugin("cert_info", "",
		func(env *loader.Env) (beacons.Beacon, error) { return beacon{env}, nil })
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	return beacons.Verdict(fault(config))
}

func fault(config any) string {
	if text := beacons.NotList("cert_info", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	if !set.Has("files") {
		return "Configuration for cert_info beacon must contain files option."
	}
	files, ok := set.Value("files").([]any)
	if !ok {
		return "Configuration for cert_info beacon files must be a list."
	}
	for _, v := range append(files, "") { // the last one stands for the general notify_days
		if _, _, err := fileOf(v, set); err != nil {
			return fmt.Sprintf("Configuration for cert_info beacon has an invalid notify_days: %v", err)
		}
	}
	return ""
}

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	set := beacons.Merge(config)
	var found []any
	for _, v := range data.ListOf(set.Value("files")) {
		path, days, err := fileOf(v, set)
		if err != nil {
			return nil, err
		}
		c, err := b.read(path)
		if err != nil {
			b.env.Log.Errorf("Unable to load certificate %s (%v)", path, err)
			continue
		}
		if left := daysLeft(c.TBS.Validity.NotAfter, time.Now()); days < 0 || float64(left) <= days {
			info, err := b.describe(ctx, path, c)
			if err != nil {
				return nil, err
			}
			found = append(found, info)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return []*data.Map{data.NewMap("certificates", found)}, nil
}

// fileOf returns the path of a certificate and for how many days before its end it is reported; for
// negative days it always is.
func fileOf(v any, set *data.Map) (path string, days float64, err error) {
	limit, ok := set.Get("notify_days")
	if !ok {
		limit = int64(notifyDays)
	}
	if m, ok := v.(*data.Map); ok && m.Len() > 0 {
		var own any
		v, own = m.At(0)
		options, _ := own.(*data.Map)
		if one, ok := options.Get("notify_days"); ok {
			limit = one
		}
	}
	days, err = beacons.Number(limit)
	return data.Str(v), days, err
}

// maxFile is the size of the largest file of a certificate, in bytes.
const maxFile = 1 << 20

// read returns the first certificate of a file.
func (b beacon) read(path string) (*certificate.Certificate, error) {
	full := filepath.Join(b.env.Root, path)
	file, info, err := beacons.OpenFile(full)
	if err != nil {
		return nil, loader.OSError(err)
	}
	defer file.Close()
	if info.Size() > maxFile {
		return nil, fmt.Errorf("the file has %d bytes", info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, loader.OSError(err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE" {
			return certificate.Parse(block.Bytes)
		}
	}
	return nil, errNone
}

// errNone is returned for a file without a certificate.
var errNone = errors.New("there is no certificate in the file")

// daysLeft returns the whole days from now, a local time, to the end of a certificate. As in Salt the
// local time is taken for UTC.
func daysLeft(end, now time.Time) int {
	now = time.Date(now.Year(), now.Month(), now.Day(), now.Hour(), now.Minute(), now.Second(),
		now.Nanosecond(), time.UTC)
	left := end.Sub(now)
	days := int(left / (24 * time.Hour))
	if left < 0 && left%(24*time.Hour) != 0 {
		days--
	}
	return days
}

// describe returns what an event tells of a certificate.
func (b beacon) describe(ctx context.Context, path string, c *certificate.Certificate) (*data.Map, error) {
	issuer, issuerDict, err := name(c.TBS.Issuer.FullBytes)
	if err != nil {
		return nil, err
	}
	subject, subjectDict, err := name(c.TBS.Subject.FullBytes)
	if err != nil {
		return nil, err
	}
	from, to := c.TBS.Validity.NotBefore.UTC(), c.TBS.Validity.NotAfter.UTC()
	const raw, shown = "20060102150405Z", "2006-01-02 15:04:05Z"
	var serial any = c.TBS.Serial
	if c.TBS.Serial.IsInt64() {
		serial = c.TBS.Serial.Int64()
	}
	return data.NewMap("cert_path", path, "issuer", issuer, "issuer_dict", issuerDict,
		"notAfter_raw", to.Format(raw), "notAfter", to.Format(shown), "notBefore_raw", from.Format(raw),
		"notBefore", from.Format(shown), "serial_number", serial, "signature_algorithm", certificate.AlgorithmWord(c.Algorithm),
		"subject", subject, "subject_dict", subjectDict, "version", int64(c.TBS.Version),
		"extensions", b.extensions(ctx, path, c.TBS.Extensions),
		"has_expired", time.Now().After(to)), nil
}

// extensions returns the names and texts of extensions.
func (b beacon) extensions(ctx context.Context, path string, list []pkix.Extension) []any {
	texts := &data.Map{}
	if b.env.Functions.Has("x509.read_certificate") {
		v, err := b.env.Call(ctx, "x509.read_certificate", []any{filepath.Join(b.env.Root, path)}, nil)
		if err != nil {
			b.env.Log.WithError(err).Debugf("read the extensions of certificate %s", path)
		}
		read, _ := v.(*data.Map)
		texts, _ = read.Value("X509v3 Extensions").(*data.Map)
	}
	all := []any{}
	for _, x := range list {
		word := certificate.ExtensionWord(x.Id.String())
		text, ok := texts.Value(word).(string)
		if !ok {
			text = certificate.Hex(x.Value)
		}
		if word == "authorityKeyIdentifier" && !strings.Contains(text, "serial:") {
			text = strings.TrimPrefix(text, "keyid:") // as OpenSSL 3 prints it
		}
		all = append(all, data.NewMap("ext_name", word, "ext_data", strings.TrimPrefix(text, "critical ")))
	}
	return all
}

// name returns a distinguished name as text and as a dictionary.
func name(der []byte) (string, *data.Map, error) {
	n, err := certificate.ParseName(der)
	if err != nil {
		return "", nil, err
	}
	var parts []string
	dict := data.NewMap()
	for _, set := range n {
		for _, a := range set {
			word := certificate.AttributeWord(a.Type.String())
			parts = append(parts, fmt.Sprintf("%s=\"%s\"", word, a.Text()))
			dict.Set(word, a.Text())
		}
	}
	return strings.Join(parts, ","), dict, nil
}
