package payload

import (
	"fmt"
	"unicode/utf8"
)

// keyText returns b as a string. Common names are returned without an allocation.
func keyText(b []byte) (string, error) {
	if s := known(b); s != "" {
		return s, nil
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("a key that is not UTF-8: %w", ErrNotMap)
	}
	return string(b), nil
}

// known returns b as a string without an allocation if it is a name in Salt's messages, else "".
func known(b []byte) string {
	switch string(b) {
	case "_return":
		return "_return"
	case "_stamp":
		return "_stamp"
	case "aes":
		return "aes"
	case "arg":
		return "arg"
	case "body":
		return "body"
	case "clear":
		return "clear"
	case "cmd":
		return "cmd"
	case "data":
		return "data"
	case "enc":
		return "enc"
	case "enc_algo":
		return "enc_algo"
	case "events":
		return "events"
	case "fun":
		return "fun"
	case "fun_args":
		return "fun_args"
	case "head":
		return "head"
	case "id":
		return "id"
	case "jid":
		return "jid"
	case "key":
		return "key"
	case "load":
		return "load"
	case "master_id":
		return "master_id"
	case "metadata":
		return "metadata"
	case "minions":
		return "minions"
	}
	return knownToo(b)
}

func knownToo(b []byte) string {
	switch string(b) {
	case "nonce":
		return "nonce"
	case "out":
		return "out"
	case "pretag":
		return "pretag"
	case "pub":
		return "pub"
	case "ret":
		return "ret"
	case "retcode":
		return "retcode"
	case "return":
		return "return"
	case "schedule":
		return "schedule"
	case "serial":
		return "serial"
	case "sig":
		return "sig"
	case "sig_algo":
		return "sig_algo"
	case "success":
		return "success"
	case "tag":
		return "tag"
	case "tgt":
		return "tgt"
	case "tgt_type":
		return "tgt_type"
	case "tok":
		return "tok"
	case "token":
		return "token"
	case "ts":
		return "ts"
	case "user":
		return "user"
	case "version":
		return "version"
	}
	return ""
}
