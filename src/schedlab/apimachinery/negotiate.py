"""Content negotiation: which representation a client wants, and in which format its body is.

An Accept header may ask for another type than the resource's own with the parameters `as`, `g` and `v`: a Table,
PartialObjectMetadata, or the aggregated discovery document. Which of them an endpoint can make is its `Restrictions`.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go, the AllowsMediaTypeTransform of
handlers/rest.go, github.com/munnerz/goautoneg, the Accept check of go-restful's router and Go's mime.ParseMediaType
(v1.36)
Differs: CBOR is not offered.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from schedlab.apimachinery import errors
from schedlab.apimachinery.gvk import GroupVersionKind

META_GROUP: Final = "meta.k8s.io"
_META_VERSIONS: Final = ("v1", "v1beta1")
_SPACE: Final = " \t\r\n\v\f"
#: Characters of a MIME token besides letters and digits.
_TOKEN_SIGNS: Final = frozenset("!#$%&'*+-.^_`|~")
#: Characters that a backslash escapes in a quoted parameter.
_SPECIALS: Final = frozenset('()<>@,;:\\"/[]?=')


@dataclass(frozen=True, slots=True)
class MediaType:
    """A format of objects on the wire."""

    type: str
    subtype: str
    #: Whether watch events can be written in it.
    has_stream: bool

    def __str__(self) -> str:
        return f"{self.type}/{self.subtype}"


JSON: Final = MediaType("application", "json", has_stream=True)
YAML: Final = MediaType("application", "yaml", has_stream=False)
PROTOBUF: Final = MediaType("application", "vnd.kubernetes.protobuf", has_stream=True)
#: What built-in resources can be read and written as, the default first.
MEDIA_TYPES: Final = (JSON, YAML, PROTOBUF)


def names(media_types: Sequence[MediaType]) -> list[str]:
    return [str(media_type) for media_type in media_types]


def stream_names(media_types: Sequence[MediaType]) -> list[str]:
    return [f"{media_type};stream=watch" for media_type in media_types if media_type.has_stream]


class Restrictions(Protocol):
    """What an endpoint can make of its objects."""

    def allows_transform(self, media_type: MediaType, target: GroupVersionKind | None) -> bool:
        """Whether objects can be sent in this format, as this type; None is their own type."""

    def allows_server_version(self, version: str) -> bool:
        """Whether the parameter `sv` may have this value."""


@dataclass(frozen=True, slots=True)
class ResourceRestrictions:
    """A resource: any format it has, Tables in JSON and YAML, metadata alone in every format."""

    has_table: bool = True
    #: Formats of the objects themselves; the other ones are for metadata only (custom resources have no protobuf).
    own_types: tuple[MediaType, ...] = MEDIA_TYPES

    def allows_transform(self, media_type: MediaType, target: GroupVersionKind | None) -> bool:
        if target is None:
            return media_type in self.own_types
        if target.group != META_GROUP or target.version not in _META_VERSIONS:
            return False
        if target.kind == "Table":
            return self.has_table and media_type in (JSON, YAML)
        return target.kind in ("PartialObjectMetadata", "PartialObjectMetadataList")

    def allows_server_version(self, version: str) -> bool:
        return version == "v1"


@dataclass(frozen=True, slots=True)
class FixedRestrictions:
    """An endpoint that has its own type, or exactly the types given here."""

    targets: frozenset[GroupVersionKind | None] = frozenset((None,))

    def allows_transform(self, media_type: MediaType, target: GroupVersionKind | None) -> bool:  # noqa: ARG002 - protocol
        return target in self.targets

    def allows_server_version(self, version: str) -> bool:  # noqa: ARG002 - protocol
        return False


#: Endpoints that serve one type only.
NO_TRANSFORM: Final = FixedRestrictions()


@dataclass(frozen=True, slots=True)
class AcceptClause:
    """One alternative of an Accept header."""

    type: str
    subtype: str
    parameters: Mapping[str, str]
    quality: float = 1.0

    def matches(self, media_type: MediaType) -> bool:
        if self.type == "*":
            return self.subtype == "*"
        return self.type == media_type.type and self.subtype in ("*", media_type.subtype)

    def precedes(self, other: "AcceptClause") -> bool:
        """Whether it is preferred; upstream's comparison, which is no strict order."""
        if self.quality > other.quality:
            return True
        if self.type != "*" and other.type == "*":
            return True
        return self.subtype != "*" and other.subtype == "*"


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The representation that was agreed upon."""

    media_type: MediaType
    #: The type to convert objects to, None for their own.
    target: GroupVersionKind | None = None
    stream: str = ""
    is_pretty: bool = False
    #: Which kind of discovery document is wanted.
    profile: str = ""


def parse_accept(header: str) -> list[AcceptClause]:
    """Parse an Accept header into clauses, the preferred first; malformed ones are skipped."""
    clauses: list[AcceptClause] = []
    for part in header.split(","):
        clause = _parse_clause(part.strip(_SPACE))
        if clause is not None:
            _insert(clauses, clause)
    return clauses


def _insert(clauses: list[AcceptClause], clause: AcceptClause) -> None:
    """One step of an insertion sort, which is how Go sorts short slices."""
    position = len(clauses)
    while position and clause.precedes(clauses[position - 1]):
        position -= 1
    clauses.insert(position, clause)


def _parse_clause(part: str) -> AcceptClause | None:
    media, _, rest = part.partition(";")
    main, *subtypes = (name.strip(_SPACE) for name in media.split("/"))
    if subtypes in ([], [""]):
        if main != "*":
            return None
        subtypes = ["*"]
    if len(subtypes) > 1 and any(subtypes[1:]):
        return None
    parameters: dict[str, str] = {}
    quality = 1.0
    for parameter in rest.split(";"):
        name, _, value = parameter.partition("=")
        if not value or "=" in value:
            continue
        if name.strip(_SPACE) == "q":
            quality = _parse_quality(value)
        else:
            parameters[name.strip(_SPACE)] = value.strip(_SPACE)
    return AcceptClause(main, subtypes[0], parameters, quality)


def _parse_quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def negotiate(
    accept: str, restrictions: Restrictions, media_types: Sequence[MediaType] = MEDIA_TYPES
) -> Negotiated | None:
    """Find the first clause of the header that the endpoint can fulfil."""
    if not accept:
        return Negotiated(media_types[0])
    for clause in parse_accept(accept):
        for media_type in media_types:
            if clause.matches(media_type):
                agreed = _accept(clause.parameters, media_type, restrictions)
                if agreed is not None:
                    return agreed
    return None


def _accept(parameters: Mapping[str, str], media_type: MediaType, restrictions: Restrictions) -> Negotiated | None:
    target = None
    if any(name in parameters for name in ("as", "g", "v")):
        target = GroupVersionKind(parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))
    stream, version = parameters.get("stream", ""), parameters.get("sv", "")
    if stream and not (media_type.has_stream and stream == "watch"):
        return None
    if version and not restrictions.allows_server_version(version):
        return None
    if not restrictions.allows_transform(media_type, target):
        return None
    return Negotiated(
        media_type, target, stream, is_pretty=parameters.get("pretty") == "1", profile=parameters.get("profile", "")
    )


def negotiate_output(
    accept: str, restrictions: Restrictions, media_types: Sequence[MediaType] = MEDIA_TYPES
) -> Negotiated:
    """Agree on the representation of an answer, or raise NotAcceptable."""
    agreed = negotiate(accept, restrictions, media_types)
    if agreed is None:
        raise errors.new_not_acceptable(names(media_types))
    return agreed


def negotiate_stream(
    accept: str, restrictions: Restrictions, media_types: Sequence[MediaType] = MEDIA_TYPES
) -> Negotiated:
    """Agree on the representation of watch events, or raise NotAcceptable."""
    agreed = negotiate(accept, restrictions, media_types)
    if agreed is None or not agreed.media_type.has_stream:
        raise errors.new_not_acceptable(stream_names(media_types))
    return agreed


def negotiate_input(content_type: str, media_types: Sequence[MediaType] = MEDIA_TYPES) -> MediaType:
    """Find the format of a body; without a Content-Type it is the first one. Raises UnsupportedMediaType."""
    if not content_type:
        return media_types[0]
    media, parameters = parse_media_type(content_type)
    for media_type in media_types:
        if parameters is not None and media == str(media_type):
            return media_type
    raise errors.new_unsupported_media_type(names(media_types))


def check_route(accept: str, produces: Collection[str], verb: str) -> None:
    """Refuse an Accept header without anything that the route can produce, before the request is looked at.

    Ranges like `application/*` and other spellings than lower case are not understood at this stage.
    """
    wanted = [alternative.partition(";")[0].strip(_SPACE) for alternative in (accept or "*/*").split(",")]
    if any(media == "*/*" or media in produces for media in wanted):
        return
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produces)}"
    raise errors.new_generic_server_response(406, verb, server_message=message)


def wants_pretty(pretty: str | None, user_agent: str) -> bool:
    """Whether JSON should be indented: the parameter says so, or else a person seems to look at it."""
    if pretty:
        return pretty in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def parse_media_type(text: str) -> tuple[str, dict[str, str] | None]:
    """Parse a Content-Type; the parameters are None when the text is malformed."""
    base = text.partition(";")[0]
    media = base.strip(_SPACE).lower()
    main, slash, subtype = media.partition("/")
    if not _is_token(main) or (slash and not _is_token(subtype)):
        return "", None
    parameters: dict[str, str] = {}
    rest = text[len(base) :].lstrip(_SPACE)
    while rest.strip(_SPACE):
        if rest.strip(_SPACE) == ";":
            break
        parsed = _parse_parameter(rest)
        if parsed is None or parsed[0] in parameters:
            return media, None
        name, value, rest = parsed
        parameters[name] = value
        rest = rest.lstrip(_SPACE)
    return media, parameters


def _is_token_char(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char in _TOKEN_SIGNS)


def _is_token(text: str) -> bool:
    return bool(text) and all(map(_is_token_char, text))


def _take_while(text: str, accepts: Callable[[str], bool]) -> tuple[str, str]:
    end = next((i for i, char in enumerate(text) if not accepts(char)), len(text))
    return text[:end], text[end:]


def _parse_parameter(text: str) -> tuple[str, str, str] | None:
    """Parse `; name=value` and return what follows it too."""
    if not text.startswith(";"):
        return None
    name, rest = _take_while(text[1:].lstrip(_SPACE), _is_token_char)
    rest = rest.lstrip(_SPACE)
    if not name or not rest.startswith("="):
        return None
    rest = rest[1:].lstrip(_SPACE)
    if not rest.startswith('"'):
        value, rest = _take_while(rest, _is_token_char)
        return (name.lower(), value, rest) if value else None
    return _parse_quoted(name.lower(), rest[1:])


def _parse_quoted(name: str, text: str) -> tuple[str, str, str] | None:
    value: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == '"':
            return name, "".join(value), text[position + 1 :]
        if char in "\r\n":
            return None
        if char == "\\" and text[position + 1 : position + 2] in _SPECIALS:
            position += 1
            char = text[position]
        value.append(char)
        position += 1
    return None
