"""A text that fits into a limited field: what is left out of a long one."""


def shorten(text: str, limit: int) -> str:
    """The text, shortened in the middle to `limit`, because both ends of an error matter most."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} … {text[-half:]}"
