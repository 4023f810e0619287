//go:build !small

package cmd

import (
	"golang.org/x/text/encoding"
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
