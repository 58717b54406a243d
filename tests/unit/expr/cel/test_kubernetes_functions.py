"""Kubernetes' CEL libraries: every row is an example or a test of Kubernetes' own, and holds there."""

from __future__ import annotations

import pytest

from tests.unit.expr.cel.asking import ask, compiled

pytestmark = pytest.mark.unit

QUANTITIES = """
isQuantity('1.3G')
isQuantity('1.3Gi')
!isQuantity('1,3G')
isQuantity('10000k')
!isQuantity('200K')
!isQuantity('Three')
!isQuantity('Mi')
isQuantity("20")
!isQuantity("20Mo")
!isQuantity("10Mm")
quantity("50000000G").isInteger()
quantity("50k").isInteger()
!quantity("9999999999999999999999999999999999999G").isInteger()
quantity("50").isInteger()
quantity("50k").asInteger() == 50000
quantity("50k").sub(20000).asApproximateFloat() == 30000.0
quantity("50.703k").asApproximateFloat() == 50703.0
quantity("50k").add(quantity("20k")) == quantity("70k")
quantity("50k").add(20) == quantity("50020")
quantity("50k").sub(quantity("20k")) == quantity("30k")
quantity("50k").sub(20000) == quantity("30k")
quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")
quantity("50k").add(20).sub(quantity("100k")).asInteger() == -49980
quantity("50k").add(quantity("20")) == quantity("50.02k")
quantity("50k").sub(quantity("20")) == quantity("49.98k")
quantity("200M").compareTo(quantity("0.2G")) == 0
quantity("50M").compareTo(quantity("50Mi")) == -1
quantity("50Mi").compareTo(quantity("50M")) == 1
quantity("150Mi").isGreaterThan(quantity("100Mi"))
!quantity("50Mi").isGreaterThan(quantity("100Mi"))
quantity("50M").isLessThan(quantity("100M"))
!quantity("100M").isLessThan(quantity("50M"))
quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M")
quantity("2M") == quantity("0.002G") && quantity("2000k") == quantity("2M")
quantity("200M") != quantity("0.3G")
sign(quantity("5")) == 1 && sign(quantity("-5")) == -1 && sign(quantity("0")) == 0
[quantity("9999999999999999999999999999999999999")].all(x, x.add(quantity("1")).compareTo(x.add(quantity("2"))) == -1)
"""

URLS = """
isURL('https://user:pass@example.com:80/path?query=val#fragment')
isURL('/absolute-path')
!isURL('https://a:b:c/')
!isURL('../relative-path')
url('/path').getScheme() == ''
url('https://example.com/').getScheme() == 'https'
url('https://example.com:80/').getHost() == 'example.com:80'
url('https://example.com/').getHost() == 'example.com'
url('https://[::1]:80/').getHost() == '[::1]:80'
url('https://[::1]/').getHost() == '[::1]'
url('/path').getHost() == ''
url('https://example.com:80/').getHostname() == 'example.com'
url('https://127.0.0.1:80/').getHostname() == '127.0.0.1'
url('https://[::1]:80/').getHostname() == '::1'
url('/path').getHostname() == ''
url('https://example.com:80/').getPort() == '80'
url('https://example.com/').getPort() == ''
url('/path').getPort() == ''
url('https://example.com/path').getEscapedPath() == '/path'
url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'
url('https://example.com').getEscapedPath() == ''
url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == { 'k1': ['a'], 'k2': ['b', 'c']}
url('https://example.com/path?key with spaces=value with spaces').getQuery() == { 'key with spaces': ['value with spaces']}
url('https://example.com/path?').getQuery() == {}
url('https://example.com/path').getQuery() == {}
url('https://example.com/path') == url('https://example.com/path')
"""

ADDRESSES = """
isIP('127.0.0.1')
isIP('::1')
!isIP('127.0.0.256')
!isIP(':::1')
!isIP('192.168.0.1.0')
!isIP('::ffff:1.2.3.4')
!isIP('fe80::1%eth0')
!isIP('127.0.0.01')
ip.isCanonical('127.0.0.1')
ip.isCanonical('2001:db8::abcd')
!ip.isCanonical('2001:DB8::ABCD')
!ip.isCanonical('2001:db8::0:0:0:abcd')
ip('127.0.0.1').family() == 4
ip('::1').family() == 6
ip('0.0.0.0').isUnspecified()
!ip('127.0.0.1').isUnspecified()
ip('::').isUnspecified()
!ip('::1').isUnspecified()
ip('127.0.0.1').isLoopback()
!ip('192.168.0.1').isLoopback()
ip('::1').isLoopback()
!ip('2001:db8::abcd').isLoopback()
ip('224.0.0.1').isLinkLocalMulticast()
!ip('224.0.1.1').isLinkLocalMulticast()
ip('ff02::1').isLinkLocalMulticast()
!ip('fd00::1').isLinkLocalMulticast()
ip('169.254.169.254').isLinkLocalUnicast()
!ip('192.168.0.1').isLinkLocalUnicast()
ip('fe80::1').isLinkLocalUnicast()
!ip('fd80::1').isLinkLocalUnicast()
ip('192.168.0.1').isGlobalUnicast()
!ip('255.255.255.255').isGlobalUnicast()
ip('2001:db8::abcd').isGlobalUnicast()
!ip('ff00::1').isGlobalUnicast()
string(ip("192.168.0.1")) == "192.168.0.1"
isCIDR('192.168.0.0/16')
isCIDR('::1/128')
!isCIDR('192.168.0.0/33')
!isCIDR('::1/129')
!isCIDR('192.168.0.0/')
cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))
!cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))
cidr('192.168.0.0/24').containsIP('192.168.0.1')
!cidr('192.168.0.0/24').containsIP('192.168.1.1')
cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))
!cidr('192.168.1.0/24').containsCIDR(cidr('192.168.2.0/24'))
cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')
!cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24')
cidr("192.168.0.0/24").containsCIDR(cidr("192.168.0.1/32"))
!cidr("192.168.0.0/24").containsCIDR(cidr("192.168.0.0/23"))
cidr("2001:db8::/32").containsIP("2001:db8::1")
!cidr("2001:db8::/32").containsIP("2001:dc8::1")
!cidr("2001:db8::/32").containsCIDR("2001:db8::/31")
cidr('192.168.0.1/24').ip() == ip('192.168.0.1')
cidr('192.168.0.1/24').ip().family() == 4
cidr('::1/128').ip() == ip('::1')
cidr('::1/128').ip().family() == 6
cidr('192.168.0.0/24').masked() == cidr('192.168.0.0/24')
cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')
cidr('192.168.0.1/24') != cidr('192.168.0.1/24').masked()
cidr("2001:db8:1::/32").masked() == cidr("2001:db8::/32")
cidr('192.168.0.0/16').prefixLength() == 16
cidr('::1/128').prefixLength() == 128
string(cidr("192.168.0.0/24")) == "192.168.0.0/24"
"""

TEXTS_AND_LISTS = """
"abc 123".find('[0-9]+') == '123'
"abc 123".find('xyz') == ''
"123 abc 456".findAll('[0-9]+') == ['123', '456']
"123 abc 456".findAll('[0-9]+', 1) == ['123']
"123 abc 456".findAll('xyz') == []
'abc 123 def 123'.findAll('123') == ['123', '123']
[1, 2, 3].isSorted()
['a', 'b', 'b', 'c'].isSorted()
![2.0, 1.0].isSorted()
[1].isSorted()
[].isSorted()
[1, 3].sum() == 4
[1.0, 3.0].sum() == 4.0
[duration('1m'), duration('1s')].sum() == duration('1m1s')
[].sum() == 0
[1, 3].min() == 1
[1, 3].max() == 3
[1].min() == 1
[1, 2, 2, 3].indexOf(2) == 1
['a', 'b', 'b', 'c'].lastIndexOf('b') == 2
[1.0].indexOf(1.1) == -1
[].indexOf('string') == -1
[1, 2, 3].includes(2)
![1, 2, 3].includes(4)
'model-a'.includes('model-a')
!'model-a'.includes('model-b')
"""

FORMATS = """
!format.dns1123Label().validate("my-label-name").hasValue()
!format.dns1123Subdomain().validate("apiextensions.k8s.io").hasValue()
!format.dns1035Label().validate("my-label-name").hasValue()
!format.qualifiedName().validate("apiextensions.k8s.io/v1beta1").hasValue()
!format.qualifiedName().validate("my.name").hasValue()
!format.dns1123LabelPrefix().validate("my-label-prefix-").hasValue()
!format.dns1123SubdomainPrefix().validate("mysubdomain.prefix.-").hasValue()
!format.dns1035LabelPrefix().validate("my-label-prefix-").hasValue()
!format.uri().validate("http://example.com").hasValue()
!format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()
!format.byte().validate("aGVsbG8=").hasValue()
!format.date().validate("2021-01-01").hasValue()
!format.datetime().validate("2021-01-01T00:00:00Z").hasValue()
!format.labelValue().validate("my-cool-label-Value").hasValue()
format.dns1123Label().validate("contains a space").hasValue()
format.dns1123Subdomain().validate("contains a space").hasValue()
format.dns1035Label().validate("contains a space").hasValue()
format.qualifiedName().validate("contains a space").hasValue()
format.dns1123LabelPrefix().validate("contains a space-").hasValue()
format.dns1035LabelPrefix().validate("contains a space-").hasValue()
format.byte().validate("aGVsbG8").hasValue()
format.date().validate("2020-01-32").hasValue()
format.datetime().validate("2020-01-32T00:00:00Z").hasValue()
format.labelValue().validate("my-cool-label-Value!!").hasValue()
!format.named("unknown").hasValue()
format.named("dns1123Label").hasValue()
format.named("dns1123Label").value() == format.dns1123Label()
format.dns1123Label() != format.dns1035Label()
"""

VERSIONS = """
isSemver('1.0.0')
!isSemver('hello')
!isSemver('v1.0')
isSemver('v1.0', true)
isSemver("1.2.3-beta.1+build.1")
!isSemver("")
!isSemver(" 1.0.0")
!isSemver("1.0.0 ")
!isSemver("01.01.01")
!isSemver("1")
!isSemver("1.1")
!isSemver("", true)
!isSemver(" 1.0.0", true)
!isSemver("1. 0.0", true)
!isSemver("1.0.0 ", true)
isSemver("v1.0.0", true)
isSemver("01.01.01", true)
isSemver("1", true)
semver("v01.01", true) == semver("1.1.0")
semver("1.2.3") == semver("1.2.3")
semver("1.2.3") != semver("1.0.0")
semver("1.0.0").isLessThan(semver("1.2.3"))
!semver("1.0.0").isLessThan(semver("1.0.0"))
semver("1.2.3").isGreaterThan(semver("1.0.0"))
semver("1.2.3").compareTo(semver("1.2.3")) == 0
semver("1.2.3").compareTo(semver("2.0.0")) == -1
semver("1.2.3").compareTo(semver("0.1.2")) == 1
semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3
"""

ERRORS = """
quantity('200K')
quantity('Three')
quantity('Mi')
quantity("10Mo")
quantity("9999999999999999999999999999999999999G").asInteger()
url('https://a:b:c/')
url('../relative-path')
ip('127.0.0.256')
ip(':::1')
ip.isCanonical("127.0.0.1.0")
cidr('192.168.0.0/33')
cidr('::1/129')
cidr("2001:db8::/")
[].min()
semver('200K')
semver("v1.0")
"""

MISMATCHES = """
isQuantity([1, 2, 3])
quantity("1") == "1"
quantity("1").isLessThan(semver("1.0.0"))
quantity("1") < quantity("2")
isSemver([1, 2, 3])
isIP(cidr("192.168.0.0/24"))
[true].sum()
[1].indexOf("a")
format.dns1123Label().validate(1)
url("/x").getScheme(1)
"""


def rows(*tables: str) -> list[str]:
    return [row for table in tables for row in table.strip().splitlines()]


@pytest.mark.parametrize("expression", rows(QUANTITIES, URLS, ADDRESSES, TEXTS_AND_LISTS, FORMATS, VERSIONS))
def test_an_example_of_kubernetes_holds(expression: str) -> None:
    result = ask(expression)
    assert result.matched, result.error


@pytest.mark.parametrize("expression", rows(ERRORS))
def test_what_is_an_error_in_kubernetes_is_one_here_with_words(expression: str) -> None:
    result = ask(f"[{expression}].size() == 1")
    assert not result.matched
    assert len(result.error) > len("condition c0 ") + 10


@pytest.mark.parametrize("expression", rows(MISMATCHES))
def test_types_that_do_not_fit_are_refused_when_compiling(expression: str) -> None:
    report = compiled(f"{expression} == null || true")
    assert report.problems
    assert "can't be used" in report.problems[0].reason
