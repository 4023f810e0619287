package gpg

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/gpg"
	"github.com/brineproject/brine/loader"
)

type signArgs struct {
	User          any `default:"None"`
	Keyid         any `default:"None"`
	Text          any `default:"None"`
	Filename      any `default:"None"`
	Output        any `default:"None"`
	UsePassphrase any `default:"False"`
	Gnupghome     any `default:"None"`
}

// sign returns a text with a signature, or an empty string if it cannot be signed.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// keyid
//
//	The key to sign with. Default: the first one.
//
// text
//
//	The text to sign.
//
// filename
//
//	The file to sign.
//
// output
//
//	The file to write the result to, if a file is signed.
//
// use_passphrase
//
//	Whether the key is protected by gpg_passphrase from the pillar.
//
// gnupghome
//
//	The directory of the keychain.
//
// CLI Example:
//
//	salt '*' gpg.sign text='Hello there.  How are you?'
//	salt '*' gpg.sign filename='/path/to/important.file'
//	salt '*' gpg.sign filename='/path/to/important.file' use_passphrase=True
func (m *module) sign(ctx context.Context, a signArgs) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	c := gpg.Call{Args: []string{"-sa", "--clearsign"}}
	if c.Passphrase, err = m.needed(ctx, a.UsePassphrase); err != nil {
		return nil, err
	}
	text, err := input(a.Text, a.Filename)
	if err != nil {
		return nil, err
	}
	if data.Truth(a.Keyid) {
		if err := plain(data.Str(a.Keyid)); err != nil {
			return nil, err
		}
		c.Args = append(c.Args, "--local-user", data.Str(a.Keyid))
	}
	c.Input = reader(text)
	r, err := chain.do(ctx, c)
	if err != nil {
		return nil, err
	}
	if _, ok := r.Value("SIG_CREATED"); !ok {
		m.env.Log.Error(r.Stderr)
		return "", nil
	}
	if data.Truth(a.Output) && !data.Truth(a.Text) {
		err = write(data.Str(a.Output), r.Output, 0o644)
	}
	return textOf(r.Output), err
}

type verifyArgs struct {
	Text       any `default:"None"`
	User       any `default:"None"`
	Filename   any `default:"None"`
	Gnupghome  any `default:"None"`
	Signature  any `default:"None"`
	Trustmodel any `default:"None"`
}

var trustModels = []string{"pgp", "classic", "tofu", "tofu+pgp", "direct", "always", "auto"}

// verified maps the trust levels of a signature's key to their meanings.
var verified = map[string]string{
	"TRUST_UNDEFINED": "Undefined", "TRUST_NEVER": "Never", "TRUST_MARGINAL": "Marginal",
	"TRUST_FULLY":    "Fully",
	"TRUST_ULTIMATE": "Ultimate",
}

// verify returns whether a text or a file has a good signature.
//
// text
//
//	The text.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// filename
//
//	The file.
//
// gnupghome
//
//	The directory of the keychain.
//
// signature
//
//	The file with the signature, if it is detached.
//
// trustmodel
//
//	The trust model: pgp, classic, tofu, tofu+pgp, direct, always or auto.
//
// CLI Example:
//
//	salt '*' gpg.verify text='Hello there.  How are you?'
//	salt '*' gpg.verify filename='/path/to/important.file'
//	salt '*' gpg.verify filename='/path/to/important.file' trustmodel=direct
func (m *module) verify(ctx context.Context, a verifyArgs) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	c := gpg.Call{Args: []string{"--verify"}}
	if data.Truth(a.Trustmodel) {
		model := data.Str(a.Trustmodel)
		if !slices.Contains(trustModels, model) {
			text := fmt.Sprintf("Invalid trustmodel defined: %s. Use one of: %s", model,
				strings.Join(trustModels, ", "))
			m.env.Log.Warn(text)
			return answer(false, text), nil
		}
		c.Args = append(c.Args, "--trust-model", model)
	}
	apart := data.Truth(a.Signature) && !data.Truth(a.Text) && data.Truth(a.Filename)
	if apart { // gpg gets the open file, even if its user cannot read it
		if c.File, err = os.Open(data.Str(a.Filename)); err != nil {
			return nil, loader.OSError(err)
		}
		defer c.File.Close()
		c.Args = append(c.Args, "--enable-special-filenames", "--", "-", "-&3")
		a.Filename = a.Signature
	}
	text, err := input(a.Text, a.Filename)
	if err != nil {
		return nil, err
	}
	c.Input = reader(text)
	r, err := chain.do(ctx, c)
	if err != nil {
		return nil, err
	}
	return judge(r), nil
}

// judge returns the result for the signatures.
func judge(r *gpg.Result) *data.Map {
	var id, name, trust any
	bad := r.Code != 0
	for _, s := range r.Status {
		switch s.Keyword {
		case "GOODSIG", "EXPSIG":
			number, who, _ := strings.Cut(s.Value, " ")
			id, name = number, strings.TrimLeft(who, " ")
		case "EXPKEYSIG":
			number, _, _ := strings.Cut(s.Value, " ")
			id = number
		case "BADSIG", "ERRSIG", "REVKEYSIG":
			bad = true
		}
		if level, ok := verified[s.Keyword]; ok {
			trust = level
		}
	}
	if bad || trust == nil {
		return answer(false, "The signature could not be verified.")
	}
	return data.NewMap("res", true, "username", name, "key_id", id, "trust_level", trust,
		"message", "The signature is verified.")
}

type encryptArgs struct {
	User          any `default:"None"`
	Recipients    any `default:"None"`
	Text          any `default:"None"`
	Filename      any `default:"None"`
	Output        any `default:"None"`
	Sign          any `default:"None"`
	UsePassphrase any `default:"False"`
	AlwaysTrust   any `default:"False"`
	Gnupghome     any `default:"None"`
	Bare          any `default:"False"`
}

// encrypt encrypts a text or a file.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// recipients
//
//	The recipients: an ID, a fingerprint, a name or an address, or a list of them.
//
// text
//
//	The text to encrypt.
//
// filename
//
//	The file to encrypt.
//
// output
//
//	The file to write the message to.
//
// sign
//
//	True: sign it as well; or the key to sign it with.
//
// use_passphrase
//
//	Whether that key is protected by gpg_passphrase from the pillar.
//
// always_trust
//
//	True: use keys even if they are not trusted.
//
// gnupghome
//
//	The directory of the keychain.
//
// bare
//
//	True: return only the message, or False if encryption failed.
//
// CLI Example:
//
//	salt '*' gpg.encrypt text='Hello there.  How are you?' recipients=recipient@example.com
//	salt '*' gpg.encrypt filename='/path/to/important.file' recipients=recipient@example.com
//	salt '*' gpg.encrypt filename='/path/to/important.file' sign=True use_passphrase=True recipients=recipient@example.com
func (m *module) encrypt(ctx context.Context, a encryptArgs) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	c := gpg.Call{Args: []string{"--encrypt", "--armor"}}
	if data.Truth(a.Sign) {
		if c.Passphrase, err = m.needed(ctx, a.UsePassphrase); err != nil {
			return nil, err
		}
		c.Args = append(c.Args, "--sign")
		if key := data.Str(a.Sign); a.Sign != true {
			if err := plain(key); err != nil {
				return nil, err
			}
			c.Args = append(c.Args, "--local-user", key)
		}
	}
	text, err := input(a.Text, a.Filename)
	if err != nil {
		return nil, err
	}
	to := []string{data.Str(a.Recipients)}
	switch a.Recipients.(type) {
	case []any, data.Tuple:
		to = data.SplitTexts(a.Recipients, ",")
	}
	if !data.Truth(a.Recipients) {
		return nil, loader.Exception("ValueError",
			"No recipients specified with asymmetric encryption")
	}
	if err := plain(to...); err != nil {
		return nil, err
	}
	for _, name := range to {
		c.Args = append(c.Args, "--recipient", name)
	}
	if data.Truth(a.AlwaysTrust) {
		c.Args = append(c.Args, "--always-trust")
	}
	c.Input = reader(text)
	return m.crypt(ctx, chain, c, outcome{a.Output, data.Truth(a.Bare), 0o644, "Encrypted"})
}

type decryptArgs struct {
	User          any `default:"None"`
	Text          any `default:"None"`
	Filename      any `default:"None"`
	Output        any `default:"None"`
	UsePassphrase any `default:"False"`
	Gnupghome     any `default:"None"`
	Bare          any `default:"False"`
}

// decrypt decrypts a text or a file.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// text
//
//	The message.
//
// filename
//
//	The file with the message.
//
// output
//
//	The file to write the decrypted content to, if a file is decrypted.
//
// use_passphrase
//
//	Whether the key is protected by gpg_passphrase from the pillar.
//
// gnupghome
//
//	The directory of the keychain.
//
// bare
//
//	True: return only the decrypted content, or False if decryption failed.
//
// CLI Example:
//
//	salt '*' gpg.decrypt filename='/path/to/important.file.gpg'
//	salt '*' gpg.decrypt filename='/path/to/important.file.gpg' use_passphrase=True
func (m *module) decrypt(ctx context.Context, a decryptArgs) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	c := gpg.Call{Args: []string{"--decrypt"}}
	if c.Passphrase, err = m.needed(ctx, a.UsePassphrase); err != nil {
		return nil, err
	}
	text, err := input(a.Text, a.Filename)
	if err != nil {
		return nil, err
	}
	if data.Truth(a.Text) {
		a.Output = nil
	}
	c.Input = reader(text)
	return m.crypt(ctx, chain, c, outcome{a.Output, data.Truth(a.Bare), 0o600, "Decrypted"})
}

// An outcome describes how to return an encrypted or decrypted message.
type outcome struct {
	output any // file
	bare   bool
	mode   os.FileMode
	done   string // Encrypted or Decrypted
}

// crypt runs gpg to encrypt or decrypt.
func (m *module) crypt(ctx context.Context, chain *keychain, c gpg.Call, o outcome) (any, error) {
	r, err := chain.do(ctx, c)
	if err != nil {
		return nil, err
	}
	status, ok := cryptStatus(r)
	switch {
	case !ok && o.bare:
		m.env.Log.Error(r.Stderr)
		return false, nil
	case !ok:
		m.env.Log.Error(r.Stderr)
		return data.NewMap("res", false, "comment", status+
			".\nPlease check the salt-minion log."), nil
	}
	text, comment := textOf(r.Output), textOf(r.Output)
	if data.Truth(o.output) {
		if err := write(data.Str(o.output), r.Output, o.mode); err != nil {
			return nil, err
		}
		text, comment = "", o.done+" data has been written to "+data.Str(o.output)
	}
	if o.bare {
		return text, nil
	}
	return data.NewMap("res", true, "comment", comment), nil
}

// cryptTexts are python-gnupg's texts for status lines of gpg.
var cryptTexts = map[string]string{
	"NEED_PASSPHRASE": "need passphrase", "BAD_PASSPHRASE": "bad passphrase",
	"GOOD_PASSPHRASE": "good passphrase", "MISSING_PASSPHRASE": "missing passphrase",
	"KEY_NOT_CREATED": "key not created", "NEED_PASSPHRASE_PIN": "need passphrase pin",
	"NEED_PASSPHRASE_SYM": "need symmetric passphrase", "BEGIN_ENCRYPTION": "encryption incomplete",
	"DECRYPTION_OKAY": "decryption ok", "END_ENCRYPTION": "encryption ok",
	"INV_RECP": "invalid recipient", "KEYEXPIRED": "key expired", "SIG_CREATED": "sig created",
	"SIGEXPIRED": "sig expired", "BADSIG": "signature bad", "ERRSIG": "signature error",
	"EXPSIG": "signature expired", "GOODSIG": "signature good", "VALIDSIG": "signature valid",
	"NO_PUBKEY": "no public key", "NO_SECKEY": "no secret key",
	"EXPKEYSIG": "signing key has expired", "REVKEYSIG": "signing key was revoked",
	"UNEXPECTED": "unexpected data",
}

// cryptStatus returns the status text of an encryption or decryption, and whether there is a
// message.
func cryptStatus(r *gpg.Result) (status string, ok bool) {
	const lost = "no secret key" // more specific than the status lines that follow
	for _, s := range r.Status {
		switch s.Keyword {
		case "NODATA":
			if status != "decryption failed" {
				status = "no data was provided"
			}
		case "DECRYPTION_FAILED":
			if ok = false; status != lost {
				status = "decryption failed"
			}
		case "BEGIN_DECRYPTION":
			if status != lost {
				status = "decryption incomplete"
			}
		case "FAILURE":
			if status == "" {
				status = failure(s.Value)
			}
		case "DECRYPTION_OKAY", "END_ENCRYPTION":
			status, ok = cryptTexts[s.Keyword], true
		default:
			if text, known := cryptTexts[s.Keyword]; known {
				status = text
			}
		}
	}
	return status, ok
}

// failure returns the text for a status line FAILURE, which has an operation and an error code.
func failure(value string) string {
	i := strings.LastIndex(value, " ")
	code, err := strconv.ParseUint(value[i+1:], 10, 64)
	if i < 0 || err != nil {
		return "error - " + value
	}
	texts := map[uint64]string{11: "incorrect passphrase"}
	if code&0x8000 != 0 {
		texts = map[uint64]string{1: "permission denied", 35: "file exists", 81: "file not found",
			97: "not a directory"}
	}
	if text, ok := texts[code&0x7fff]; ok {
		return value[:i] + ": " + text
	}
	return "error - " + value
}
