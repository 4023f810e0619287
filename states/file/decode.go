package file

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type decodeArgs struct {
	Name           string
	EncodedData    any `default:"None"`
	ContentsPillar any `default:"None"`
	EncodingType   any `default:"'base64'"`
	Checksum       any `default:"'md5'"`
}

// decode writes the decoded form of a base64 text to a file. The changes show hashes.
//
// encoded_data, contents_pillar
//
//	The text, or its key in pillar.
//
// encoding_type
//
//	The only value is base64.
//
// checksum
//
//	The type of hash to compare with.
//
//	/etc/example.bin:
//	  file.decode:
//	    - encoded_data: Z2V0IHNhbHRlZA==
func (m contents) decode(ctx context.Context, a decodeArgs) (change.Result, error) {
	content, err := m.encoded(ctx, a)
	if err != nil {
		return change.Result{}, err
	}
	found, err := m.digests(ctx, a, content)
	if err != nil {
		return change.Result{}, err
	}
	var now any
	return change.Thing[digests]{
		Name: a.Name,
		Look: func(context.Context) (digests, error) { return found, nil },
		Wants: func(d digests) *data.Map {
			return change.When(!d.there || !data.Equal(d.has, d.want), change.OldNew(d.has, d.want))
		},
		Apply: func(ctx context.Context, _ digests) error {
			done, err := m.call(ctx, "hashutil.base64_decodefile", nil, content, a.Name)
			if err == nil {
				now, err = m.call(ctx, "hashutil.digest_file", nil, a.Name, a.Checksum)
			}
			if err == nil && !data.Truth(done) {
				return change.Reason("File was updated.")
			}
			return change.Raise(err)
		},
		Changed: func(d, _ digests) *data.Map { return change.OldNew(d.has, now) },
		Texts: change.Texts{
			Same:  "File is in the correct state.",
			Would: "File is set to be updated.",
			Done:  "File was updated.",
		},
		Silent: !found.there,
		Trust:  true, // the changes include the new hash
	}.Ensure(ctx)
}

// digests are the current and the desired hash of a file. Either may be missing.
type digests struct {
	there     bool
	has, want any
}

func (m contents) digests(ctx context.Context, a decodeArgs, content any) (d digests, err error) {
	if d.there, err = calls.FileExists(ctx, m.env, a.Name); err != nil || !d.there {
		return d, err
	}
	text, err := m.call(ctx, "hashutil.base64_decodestring", nil, content)
	if err == nil {
		d.want, err = m.call(ctx, "hashutil.digest", nil, text, a.Checksum)
	}
	if err == nil {
		d.has, err = m.call(ctx, "hashutil.digest_file", nil, a.Name, a.Checksum)
	}
	return d, err
}

// encoded returns the text to decode.
func (m contents) encoded(ctx context.Context, a decodeArgs) (any, error) {
	given, kept := data.Truth(a.EncodedData), data.Truth(a.ContentsPillar)
	switch {
	case !given && !kept:
		return nil, loader.Execution("Specify either the 'encoded_data' or 'contents_pillar' argument.")
	case given && kept:
		return nil, loader.Execution("Specify only one 'encoded_data' or 'contents_pillar' argument.")
	case given:
		return a.EncodedData, nil
	}
	v, err := calls.PillarGet[any](ctx, m.env, a.ContentsPillar, false)
	if err == nil && v == false {
		return nil, loader.Execution("Pillar data not found.")
	}
	return v, err
}
