package file

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type decodeArgs struct {
	Name           string
	EncodedData    any `default:"None"`
	ContentsPillar any `default:"None"`
	EncodingType   any `default:"'base64'"`
	Checksum       any `default:"'md5'"`
}

// decode brings a file to what a text in base64 holds. Changes are hashes.
//
// encoded_data, contents_pillar
//
//	The text, or where it is in pillar.
//
// encoding_type
//
//	base64; there is no other.
//
// checksum
//
//	The kind of hash to compare by.
//
//	/etc/example.bin:
//	  file.decode:
//	    - encoded_data: Z2V0IHNhbHRlZA==
func (m *module) decode(ctx context.Context, a decodeArgs) (any, error) {
	content, err := m.encoded(ctx, a)
	if err != nil {
		return nil, err
	}
	there, err := m.call(ctx, "file.file_exists", nil, a.Name)
	if err != nil {
		return nil, err
	}
	changes := data.NewMap()
	if data.Truth(there) {
		text, err := m.call(ctx, "hashutil.base64_decodestring", nil, content)
		if err != nil {
			return nil, err
		}
		want, err := m.call(ctx, "hashutil.digest", nil, text, a.Checksum)
		if err != nil {
			return nil, err
		}
		has, err := m.call(ctx, "hashutil.digest_file", nil, a.Name, a.Checksum)
		if err != nil {
			return nil, err
		}
		if data.Equal(want, has) {
			return change.Done(a.Name, "File is in the correct state."), nil
		}
		changes = change.OldNew(has, want)
	}
	if change.Test(ctx) {
		return change.Would(a.Name, changes, "File is set to be updated."), nil
	}
	done, err := m.call(ctx, "hashutil.base64_decodefile", nil, content, a.Name)
	if err != nil {
		return nil, err
	}
	has, err := m.call(ctx, "hashutil.digest_file", nil, a.Name, a.Checksum)
	if err != nil {
		return nil, err
	}
	return change.New(a.Name, done, change.OldNew(changes.Value("old"), has), "File was updated."), nil
}

// encoded returns the text that is to be decoded.
func (m *module) encoded(ctx context.Context, a decodeArgs) (any, error) {
	given, kept := data.Truth(a.EncodedData), data.Truth(a.ContentsPillar)
	switch {
	case !given && !kept:
		return nil, loader.Execution("Specify either the 'encoded_data' or 'contents_pillar' argument.")
	case given && kept:
		return nil, loader.Execution("Specify only one 'encoded_data' or 'contents_pillar' argument.")
	case given:
		return a.EncodedData, nil
	}
	v, err := m.call(ctx, "pillar.get", nil, a.ContentsPillar, false)
	if err == nil && v == false {
		return nil, loader.Execution("Pillar data not found.")
	}
	return v, err
}
