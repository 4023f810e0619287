//go:build !small || formats

package cmd

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// wideEncoding returns East Asian encodings, whose tables are large.
func wideEncoding(name string) encoding.Encoding {
	switch name {
	case "cp932", "932", "shiftjis", "sjis", "mskanji":
		return japanese.ShiftJIS
	case "eucjp", "ujis":
		return japanese.EUCJP
	case "iso2022jp":
		return japanese.ISO2022JP
	case "cp949", "949", "euckr", "ms949", "uhc":
		return korean.EUCKR
	case "gbk", "cp936", "936", "ms936":
		return simplifiedchinese.GBK
	case "gb2312", "gb18030", "euccn":
		return simplifiedchinese.GB18030
	case "big5", "cp950", "950":
		return traditionalchinese.Big5
	}
	return nil
}

// codepage returns encodings of one byte a character: those with numbers, such as cp852 and
// iso8859-2, and a few others.
func codepage(name string) encoding.Encoding {
	switch name {
	case "koi8r":
		return charmap.KOI8R
	case "koi8u":
		return charmap.KOI8U
	case "macroman", "macintosh":
		return charmap.Macintosh
	}
	pages := map[string]encoding.Encoding{
		"37": charmap.CodePage037, "437": charmap.CodePage437, "850": charmap.CodePage850,
		"852": charmap.CodePage852, "855": charmap.CodePage855, "858": charmap.CodePage858,
		"860": charmap.CodePage860, "862": charmap.CodePage862,
		"863": charmap.CodePage863, "865": charmap.CodePage865, "866": charmap.CodePage866,
		"874": charmap.Windows874, "1250": charmap.Windows1250, "1251": charmap.Windows1251,
		"1252": charmap.Windows1252, "1253": charmap.Windows1253,
		"1254": charmap.Windows1254, "1255": charmap.Windows1255, "1256": charmap.Windows1256,
		"1257": charmap.Windows1257,
		"1258": charmap.Windows1258,
	}
	for _, prefix := range []string{"cp", "ibm", "windows", ""} {
		if number, ok := strings.CutPrefix(name, prefix); ok && pages[number] != nil {
			return pages[number]
		}
	}
	parts := map[string]encoding.Encoding{
		"2": charmap.ISO8859_2, "3": charmap.ISO8859_3, "4": charmap.ISO8859_4,
		"5": charmap.ISO8859_5, "6": charmap.ISO8859_6, "7": charmap.ISO8859_7,
		"8": charmap.ISO8859_8, "9": charmap.ISO8859_9, "10": charmap.ISO8859_10,
		"13": charmap.ISO8859_13, "14": charmap.ISO8859_14, "15": charmap.ISO8859_15,
		"16": charmap.ISO8859_16,
	}
	return parts[strings.TrimPrefix(name, "iso8859")]
}
