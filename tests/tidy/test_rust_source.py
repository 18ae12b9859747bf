"""The reader of Rust that other checks stand on."""

from tests.tidy.rust_source import Function, blank, functions


def test_comments_strings_and_characters_become_spaces() -> None:
    text = 'let a = "unsafe {"; // unsafe\n/* un /* safe */ } */ let b = r#"fn "x" {"#; let c = \'{\';'
    code = blank(text)
    assert "unsafe" not in code
    assert "{" not in code
    assert "}" not in code
    assert len(code) == len(text)
    assert code.split() == ["let", "a", "=", ";", "let", "b", "=", ";", "let", "c", "=", ";"]


def test_a_lifetime_is_code() -> None:
    assert blank("fn f<'a>(x: &'a str) -> &'a str { x }") == "fn f<'a>(x: &'a str) -> &'a str { x }"


def test_escapes_do_not_end_a_literal() -> None:
    assert blank(r"""let a = "\"{"; let b = '\''; let c = b'\\'; let d = '\u{7b}';""").count("{") == 0


def test_functions_are_measured_from_their_name_to_their_brace() -> None:
    text = "struct S;\nfn a(\n    x: [u8; 4],\n) {\n    if x[0] == b'{' {}\n}\nfn b();\nfn c() {}\n"
    assert list(functions(text)) == [Function("a", 2, 5), Function("c", 8, 1)]
