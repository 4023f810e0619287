// Package jmespath searches data with JMESPath expressions (jmespath.org, the specification of
// 2015), as Python's library jmespath does.
//
//	v, err := jmespath.Search("services[?port > `22`].name | [0]", data)
//
// Values are those of package data; keys keep their order. An expression may nest 100 deep.
package jmespath
