"""The codes and rows that the wire, the native side and Python share.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal

TABLES_DIGEST: Final = 0x0195EA357704263E
PROTOCOL_VERSION: Final = 11264
METRIC_CELLS: Final = 317


class Command(IntEnum):
    """A command of the client plane, by its code."""

    PING = 1
    STATS = 10
    SNAPSHOT = 11
    CLUSTER_METADATA = 12
    DESCRIBE_OPTIONS = 13
    ATTACH_CONSUMER_SESSION = 14
    GET_ME = 20
    GET_CLIENT = 21
    GET_CLIENTS = 22
    GET_USER = 31
    GET_USERS = 32
    CREATE_USER = 33
    DELETE_USER = 34
    UPDATE_USER = 35
    UPDATE_PERMISSIONS = 36
    CHANGE_PASSWORD = 37
    LOGIN_USER = 38
    LOGOUT = 39
    LOGIN_REGISTER = 40
    GET_PERSONAL_ACCESS_TOKENS = 41
    CREATE_PERSONAL_ACCESS_TOKEN = 42
    DELETE_PERSONAL_ACCESS_TOKEN = 43
    LOGIN_WITH_PERSONAL_ACCESS_TOKEN = 44
    LOGIN_REGISTER_WITH_TOKEN = 45
    POLL_MESSAGES = 100
    SEND_MESSAGES = 101
    FLUSH_UNSAVED_BUFFER = 102
    POLL_ROUTING = 103
    POLL_PRIMARY = 104
    GET_CONSUMER_OFFSET = 120
    STORE_CONSUMER_OFFSET = 121
    DELETE_CONSUMER_OFFSET = 122
    OFFSET_ROUTING = 123
    GET_STREAM = 200
    GET_STREAMS = 201
    CREATE_STREAM = 202
    DELETE_STREAM = 203
    UPDATE_STREAM = 204
    PURGE_STREAM = 205
    GET_TOPIC = 300
    GET_TOPICS = 301
    CREATE_TOPIC = 302
    DELETE_TOPIC = 303
    UPDATE_TOPIC = 304
    PURGE_TOPIC = 305
    CREATE_PARTITIONS = 402
    DELETE_PARTITIONS = 403
    DELETE_SEGMENTS = 503
    GET_CONSUMER_GROUP = 600
    GET_CONSUMER_GROUPS = 601
    CREATE_CONSUMER_GROUP = 602
    DELETE_CONSUMER_GROUP = 603
    JOIN_CONSUMER_GROUP = 604
    LEAVE_CONSUMER_GROUP = 605
    SYNC_CONSUMER_GROUP = 606


class Operation(IntEnum):
    """The operation byte of a request."""

    REGISTER = 1
    NON_REPLICATED = 2
    LOGOUT = 3
    CREATE_TOPIC_WITH_ASSIGNMENTS = 64
    CREATE_PARTITIONS_WITH_ASSIGNMENTS = 65
    REMOVE_CONSUMER_GROUP_MEMBER = 66
    COMPLETE_CONSUMER_GROUP_REVOCATION = 67
    TRUNCATE_PARTITION = 68
    CREATE_STREAM = 128
    UPDATE_STREAM = 129
    DELETE_STREAM = 130
    PURGE_STREAM = 131
    CREATE_TOPIC = 132
    UPDATE_TOPIC = 133
    DELETE_TOPIC = 134
    PURGE_TOPIC = 135
    CREATE_PARTITIONS = 136
    DELETE_PARTITIONS = 137
    DELETE_SEGMENTS = 138
    CREATE_CONSUMER_GROUP = 139
    DELETE_CONSUMER_GROUP = 140
    CREATE_USER = 141
    UPDATE_USER = 142
    DELETE_USER = 143
    CHANGE_PASSWORD = 144
    UPDATE_PERMISSIONS = 145
    CREATE_PERSONAL_ACCESS_TOKEN = 146
    DELETE_PERSONAL_ACCESS_TOKEN = 147
    JOIN_CONSUMER_GROUP = 148
    LEAVE_CONSUMER_GROUP = 149
    SEND_MESSAGES = 160
    STORE_CONSUMER_OFFSET = 161
    DELETE_CONSUMER_OFFSET = 162


class ErrorCode(IntEnum):
    """What a client is told, as a status or a result."""

    ERROR = 1
    INVALID_CONFIGURATION = 2
    INVALID_COMMAND = 3
    INVALID_FORMAT = 4
    FEATURE_UNAVAILABLE = 5
    INVALID_IDENTIFIER = 6
    INVALID_VERSION = 7
    DISCONNECTED = 8
    CANNOT_ESTABLISH_CONNECTION = 9
    CANNOT_CREATE_BASE_DIRECTORY = 10
    CANNOT_CREATE_RUNTIME_DIRECTORY = 11
    CANNOT_REMOVE_RUNTIME_DIRECTORY = 12
    CANNOT_CREATE_STATE_DIRECTORY = 13
    STATE_FILE_NOT_FOUND = 14
    STATE_FILE_CORRUPTED = 15
    INVALID_STATE_ENTRY_CHECKSUM = 16
    CANNOT_OPEN_DATABASE = 19
    RESOURCE_NOT_FOUND = 20
    CANNOT_CLOSE_WEB_SOCKET_CONNECTION = 21
    STALE_CLIENT = 30
    TCP_ERROR = 31
    QUIC_ERROR = 32
    INVALID_SERVER_ADDRESS = 33
    INVALID_CLIENT_ADDRESS = 34
    INVALID_IP_ADDRESS = 35
    HTTP_ERROR = 36
    INVALID_API_URL = 37
    UNAUTHENTICATED = 40
    UNAUTHORIZED = 41
    INVALID_CREDENTIALS = 42
    INVALID_USERNAME = 43
    INVALID_PASSWORD = 44
    INVALID_USER_STATUS = 45
    USER_ALREADY_EXISTS = 46
    USER_INACTIVE = 47
    CANNOT_DELETE_USER = 48
    CANNOT_CHANGE_PERMISSIONS = 49
    INVALID_PERSONAL_ACCESS_TOKEN_NAME = 50
    PERSONAL_ACCESS_TOKEN_ALREADY_EXISTS = 51
    PERSONAL_ACCESS_TOKENS_LIMIT_REACHED = 52
    INVALID_PERSONAL_ACCESS_TOKEN = 53
    PERSONAL_ACCESS_TOKEN_EXPIRED = 54
    USERS_LIMIT_REACHED = 55
    INVALID_PERSONAL_ACCESS_TOKEN_EXPIRY = 56
    TRANSIENT_NOT_COMMITTED = 57
    TRANSIENT_NOT_ACCEPTED = 58
    REQUEST_ALREADY_APPLIED = 59
    NOT_CONNECTED = 61
    CLIENT_SHUTDOWN = 63
    INVALID_TLS_DOMAIN = 64
    INVALID_TLS_CERTIFICATE_PATH = 65
    INVALID_TLS_CERTIFICATE = 66
    FAILED_TO_ADD_CERTIFICATE = 67
    INVALID_ENCRYPTION_KEY = 70
    CANNOT_ENCRYPT_DATA = 71
    CANNOT_DECRYPT_DATA = 72
    INVALID_JWT_ALGORITHM = 73
    INVALID_JWT_SECRET = 74
    JWT_MISSING = 75
    CANNOT_GENERATE_JWT = 76
    ACCESS_TOKEN_MISSING = 77
    INVALID_ACCESS_TOKEN = 78
    CANNOT_FETCH_JWKS = 79
    INVALID_SIZE_BYTES = 80
    INVALID_UTF8 = 81
    INVALID_NUMBER_ENCODING = 82
    INVALID_BOOLEAN_VALUE = 83
    INVALID_NUMBER_VALUE = 84
    CLIENT_NOT_FOUND = 100
    INVALID_CLIENT_ID = 101
    CONNECTION_CLOSED = 206
    CANNOT_PARSE_HEADER_KIND = 209
    HTTP_RESPONSE_ERROR = 300
    INVALID_HTTP_REQUEST = 301
    INVALID_JSON_RESPONSE = 302
    INVALID_BYTES_RESPONSE = 303
    EMPTY_RESPONSE = 304
    CANNOT_CREATE_ENDPOINT = 305
    CANNOT_PARSE_URL = 306
    WEB_SOCKET_ERROR = 400
    WEB_SOCKET_CONNECTION_ERROR = 401
    WEB_SOCKET_CLOSE_ERROR = 402
    WEB_SOCKET_RECEIVE_ERROR = 403
    WEB_SOCKET_SEND_ERROR = 404
    CANNOT_CREATE_STREAMS_DIRECTORY = 1000
    CANNOT_CREATE_STREAM_DIRECTORY = 1001
    CANNOT_CREATE_STREAM_INFO = 1002
    CANNOT_UPDATE_STREAM_INFO = 1003
    CANNOT_OPEN_STREAM_INFO = 1004
    CANNOT_READ_STREAM_INFO = 1005
    CANNOT_CREATE_STREAM = 1006
    CANNOT_DELETE_STREAM = 1007
    CANNOT_DELETE_STREAM_DIRECTORY = 1008
    STREAM_ID_NOT_FOUND = 1009
    STREAM_NAME_NOT_FOUND = 1010
    STREAM_DIRECTORY_NOT_FOUND = 1011
    STREAM_NAME_ALREADY_EXISTS = 1012
    INVALID_STREAM_NAME = 1013
    INVALID_STREAM_ID = 1014
    CANNOT_READ_STREAMS = 1015
    INVALID_TOPIC_SIZE = 1019
    TOO_MANY_STREAMS = 1020
    CANNOT_CREATE_TOPICS_DIRECTORY = 2000
    CANNOT_CREATE_TOPIC_DIRECTORY = 2001
    CANNOT_CREATE_TOPIC_INFO = 2002
    CANNOT_UPDATE_TOPIC_INFO = 2003
    CANNOT_OPEN_TOPIC_INFO = 2004
    CANNOT_READ_TOPIC_INFO = 2005
    CANNOT_CREATE_TOPIC = 2006
    CANNOT_DELETE_TOPIC = 2007
    CANNOT_DELETE_TOPIC_DIRECTORY = 2008
    CANNOT_POLL_TOPIC = 2009
    TOPIC_ID_NOT_FOUND = 2010
    TOPIC_NAME_NOT_FOUND = 2011
    TOPIC_NAME_ALREADY_EXISTS = 2013
    INVALID_TOPIC_NAME = 2014
    TOO_MANY_PARTITIONS = 2015
    INVALID_TOPIC_ID = 2016
    CANNOT_READ_TOPICS = 2017
    INVALID_REPLICATION_FACTOR = 2018
    INVALID_PARTITIONS_COUNT = 2019
    TOPIC_DIRECTORY_NOT_FOUND = 2020
    TOO_MANY_TOPICS = 2021
    CANNOT_CREATE_PARTITION = 3000
    CANNOT_CREATE_PARTITIONS_DIRECTORY = 3001
    CANNOT_CREATE_PARTITION_DIRECTORY = 3002
    CANNOT_OPEN_PARTITION_LOG_FILE = 3003
    CANNOT_READ_PARTITIONS = 3004
    CANNOT_DELETE_PARTITION = 3005
    CANNOT_DELETE_PARTITION_DIRECTORY = 3006
    PARTITION_NOT_FOUND = 3007
    NO_PARTITIONS = 3008
    TOPIC_FULL = 3009
    CANNOT_DELETE_CONSUMER_OFFSETS_DIRECTORY = 3010
    CANNOT_DELETE_CONSUMER_OFFSET_FILE = 3011
    CANNOT_CREATE_CONSUMER_OFFSETS_DIRECTORY = 3012
    PARTITION_ID_SPACE_EXHAUSTED = 3013
    CANNOT_READ_CONSUMER_OFFSETS = 3020
    CONSUMER_OFFSET_NOT_FOUND = 3021
    NOT_RESOLVED_CONSUMER = 3022
    CANNOT_OPEN_CONSUMER_OFFSETS_FILE = 3023
    CONSUMER_OFFSETS_LIMIT_REACHED = 3024
    SEGMENT_NOT_FOUND = 4000
    SEGMENT_CLOSED = 4001
    INVALID_SEGMENT_SIZE = 4002
    CANNOT_CREATE_SEGMENT_LOG_FILE = 4003
    CANNOT_CREATE_SEGMENT_INDEX_FILE = 4004
    CANNOT_CREATE_SEGMENT_TIME_INDEX_FILE = 4005
    CANNOT_SAVE_MESSAGES_TO_SEGMENT = 4006
    CANNOT_SAVE_INDEX_TO_SEGMENT = 4007
    CANNOT_SAVE_TIME_INDEX_TO_SEGMENT = 4008
    INVALID_MESSAGES_COUNT = 4009
    CANNOT_APPEND_MESSAGE = 4010
    CANNOT_READ_MESSAGE = 4011
    CANNOT_READ_MESSAGE_ID = 4012
    CANNOT_READ_MESSAGE_STATE = 4013
    CANNOT_READ_MESSAGE_TIMESTAMP = 4014
    CANNOT_READ_HEADERS_LENGTH = 4015
    CANNOT_READ_HEADERS_PAYLOAD = 4016
    TOO_BIG_USER_HEADERS = 4017
    INVALID_HEADER_KEY = 4018
    INVALID_HEADER_VALUE = 4019
    CANNOT_READ_MESSAGE_LENGTH = 4020
    CANNOT_READ_MESSAGE_PAYLOAD = 4021
    TOO_BIG_MESSAGE_PAYLOAD = 4022
    TOO_MANY_MESSAGES = 4023
    EMPTY_MESSAGE_PAYLOAD = 4024
    INVALID_MESSAGE_PAYLOAD_LENGTH = 4025
    CANNOT_READ_MESSAGE_CHECKSUM = 4026
    INVALID_MESSAGE_CHECKSUM = 4027
    INVALID_KEY_VALUE_LENGTH = 4028
    COMMAND_LENGTH_ERROR = 4029
    INVALID_SEGMENTS_COUNT = 4030
    NON_ZERO_OFFSET = 4031
    NON_ZERO_TIMESTAMP = 4032
    MISSING_INDEX = 4033
    INVALID_INDEXES_BYTE_SIZE = 4034
    INVALID_INDEXES_COUNT = 4035
    INVALID_MESSAGES_SIZE = 4036
    TOO_SMALL_MESSAGE = 4037
    INVALID_MESSAGE_TIMESTAMP_DELTA = 4038
    INVALID_BATCH_CHECKSUM = 4039
    INVALID_HEADER_KIND = 4040
    UNSUPPORTED_OPTION_KEY = 4041
    INVALID_OPTION_VALUE = 4042
    OPTIONS_BLOCK_TOO_LARGE = 4043
    CANNOT_SEND_MESSAGES_DUE_TO_CLIENT_DISCONNECTION = 4050
    BACKGROUND_SEND_ERROR = 4051
    BACKGROUND_SEND_TIMEOUT = 4052
    BACKGROUND_SEND_BUFFER_FULL = 4053
    BACKGROUND_WORKER_DISCONNECTED = 4054
    BACKGROUND_SEND_BUFFER_OVERFLOW = 4055
    PRODUCER_SEND_FAILED = 4056
    PRODUCER_CLOSED = 4057
    INVALID_OFFSET = 4100
    INVALID_RESERVED_FIELD = 4101
    SEGMENT_SIZE_MISMATCH = 4102
    CONSUMER_GROUP_ID_NOT_FOUND = 5000
    INVALID_CONSUMER_GROUP_ID = 5002
    CONSUMER_GROUP_NAME_NOT_FOUND = 5003
    CONSUMER_GROUP_NAME_ALREADY_EXISTS = 5004
    INVALID_CONSUMER_GROUP_NAME = 5005
    CONSUMER_GROUP_MEMBER_NOT_FOUND = 5006
    CANNOT_CREATE_CONSUMER_GROUP_INFO = 5007
    CANNOT_DELETE_CONSUMER_GROUP_INFO = 5008
    CONSUMER_GROUP_PARTITION_NOT_OWNED = 5009
    MISSING_BASE_OFFSET_RETAINED_MESSAGE_BATCH = 6000
    MISSING_LAST_OFFSET_DELTA_RETAINED_MESSAGE_BATCH = 6001
    MISSING_MAX_TIMESTAMP_RETAINED_MESSAGE_BATCH = 6002
    MISSING_LENGTH_RETAINED_MESSAGE_BATCH = 6003
    MISSING_PAYLOAD_RETAINED_MESSAGE_BATCH = 6004
    CANNOT_READ_BATCH_BASE_OFFSET = 7000
    CANNOT_READ_BATCH_LENGTH = 7001
    CANNOT_READ_LAST_OFFSET_DELTA = 7002
    CANNOT_READ_MAX_TIMESTAMP = 7003
    CANNOT_READ_BATCH_PAYLOAD = 7004
    INVALID_CONNECTION_STRING = 8000
    SNAPSHOT_FILE_COMPLETION_FAILED = 9000
    CANNOT_SERIALIZE_RESOURCE = 10000
    CANNOT_DESERIALIZE_RESOURCE = 10001
    CANNOT_READ_FILE = 10002
    CANNOT_READ_FILE_METADATA = 10003
    CANNOT_SEEK_FILE = 10004
    CANNOT_APPEND_TO_FILE = 10005
    CANNOT_WRITE_TO_FILE = 10006
    CANNOT_OVERWRITE_FILE = 10007
    CANNOT_DELETE_FILE = 10008
    CANNOT_SYNC_FILE = 10009
    CANNOT_READ_INDEX_OFFSET = 10010
    CANNOT_READ_INDEX_POSITION = 10011
    CANNOT_READ_INDEX_TIMESTAMP = 10012
    TIMESTAMP_OUT_OF_RANGE = 10013
    SHARD_NOT_FOUND = 11000
    SHARD_COMMUNICATION_ERROR = 11001
    CANNOT_BIND_TO_SOCKET = 12000
    TASK_TIMEOUT = 12001
    IO_ERROR = 13000
    ALREADY_AUTHENTICATED = 14000
    INVALID_SESSION = 14001
    INCOMPATIBLE_PROTOCOL_VERSION = 14003


class EvictionReason(IntEnum):
    """Why a session is over, or was refused."""

    RESERVED = 0
    NO_SESSION = 1
    CLIENT_RELEASE_TOO_LOW = 2
    CLIENT_RELEASE_TOO_HIGH = 3
    INVALID_REQUEST_OPERATION = 4
    INVALID_REQUEST_BODY = 5
    INVALID_REQUEST_BODY_SIZE = 6
    SESSION_TOO_LOW = 7
    SESSION_RELEASE_MISMATCH = 8
    INVALID_CREDENTIALS = 9
    INVALID_TOKEN = 10
    USER_INACTIVE = 11
    SESSION_ERROR = 12
    STALE_CLIENT = 13
    INCOMPATIBLE_PROTOCOL = 14
    MALFORMED_LOGIN = 15


class Transport(IntEnum):
    """How a client reached the server."""

    TCP = 1
    QUIC = 2
    HTTP = 3
    WEBSOCKET = 4


class FrameVariant(IntEnum):
    """What a mailbox between shards carries."""

    CLIENT_REQUEST = 0
    CLIENT_ANSWER = 1
    HAND_OVER = 2
    CONNECTION_CLOSED = 3
    SESSION_ENDED = 4
    PARTITION_REQUEST = 5
    ROWS = 6
    MIRRORED = 7
    ORDERS = 8
    FATES = 9
    OBSERVED = 10
    CUT = 11
    CUT_ENDED = 12
    ADOPT = 13
    ADOPTION_ENDED = 14
    REPLICA_MESSAGE = 15
    REPLICA_READ = 16


class DropReason(IntEnum):
    """Why a frame between shards did not arrive."""

    FULL = 0
    GONE = 1
    MISROUTED = 2
    UNROUTABLE = 3
    STOPPING = 4
    UNWANTED = 5


class CloseReason(IntEnum):
    """Why the server closed a connection."""

    CLIENT_CLOSED = 0
    TRUNCATED = 1
    IO_ERROR = 2
    LEGACY_FRAMING = 3
    BAD_SIZE = 4
    BAD_COMMAND = 5
    OVERSIZE_BEFORE_LOGIN = 6
    FRAME_TIMEOUT = 7
    SEND_TIMEOUT = 8
    DISPLACED = 9
    TABLE_FULL = 10
    EVICTED = 11
    STOPPING = 12


class ReplyOutcome(IntEnum):
    """How a request ended."""

    OK = 0
    DENIED = 1
    REJECTED = 2
    EVICTED = 3
    BUSY = 4


class LoginOutcome(IntEnum):
    """How a login by password ended."""

    OK = 0
    REFUSED = 1
    BUSY = 2


class MemoryPart(IntEnum):
    """What the memory budget is divided among."""

    POLL_CACHE = 0
    POLL_READS = 1
    REPLIES = 2
    UNFLUSHED = 3
    CONNECTIONS = 4
    SPARES = 5


class RequestClass(IntEnum):
    """What a request asked for."""

    SEND = 0
    POLL = 1
    OFFSET = 2
    METADATA = 3
    SESSION = 4
    OWN = 5


class ExitStatus(IntEnum):
    """The status the daemon ends with."""

    CLEAN = 0
    DAMAGED_DATA = 65
    INTERNAL_FAULT = 70
    JOURNAL_IO = 74
    UNCLEAN_STOP = 75
    CONFIGURATION = 78


class ValueKind(IntEnum):
    """The kinds that options are stored in; a client may send others."""

    TEXT = 2
    BOOL = 3
    U32 = 11
    U64 = 12


@dataclass(frozen=True, slots=True)
class CommandRow:
    """How a command travels and what it asks of the sender."""

    code: Command
    name: str
    operation: Operation
    plane: Literal["local", "metadata", "partition", "register"]
    permission: str


@dataclass(frozen=True, slots=True)
class PermissionRow:
    """A requirement of commands and the flags of which any one meets it."""

    name: str
    sentence: str
    global_flags: tuple[str, ...]
    stream_flags: tuple[str, ...]
    topic_flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label of a metric and its values in the order of their cells."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """How a histogram measures: the bounds of its buckets in small units, and how many make one that is shown."""

    per_unit: int
    bounds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of a shard; its cells begin at `first_cell`, the last label varying fastest."""

    id: int
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[LabelRow, ...]
    first_cell: int
    scale: ScaleRow | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """A log event of the native side; `fields` name the numbers that travel with its code."""

    code: int
    name: str
    level: Literal["debug", "info", "warning", "error"]
    message: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExitRow:
    """What an exit status says."""

    status: ExitStatus
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TopicOptionRow:
    """An option of a topic, and the value that a topic has without it; of a flag that is 0 or 1."""

    key: str
    kind: ValueKind
    default: str | int
    updatable: bool


COMMANDS: Final[tuple[CommandRow, ...]] = (
    CommandRow(Command.PING, "ping", Operation.NON_REPLICATED, "local", "nothing"),
    CommandRow(Command.STATS, "stats", Operation.NON_REPLICATED, "local", "read_servers"),
    CommandRow(Command.SNAPSHOT, "snapshot", Operation.NON_REPLICATED, "local", "read_servers"),
    CommandRow(Command.CLUSTER_METADATA, "cluster.metadata", Operation.NON_REPLICATED, "local", "session"),
    CommandRow(Command.DESCRIBE_OPTIONS, "options.describe", Operation.NON_REPLICATED, "local", "session"),
    CommandRow(
        Command.ATTACH_CONSUMER_SESSION,
        "consumer_session.attach",
        Operation.NON_REPLICATED,
        "local",
        "session",
    ),
    CommandRow(Command.GET_ME, "me", Operation.NON_REPLICATED, "local", "session"),
    CommandRow(Command.GET_CLIENT, "client.get", Operation.NON_REPLICATED, "local", "read_servers"),
    CommandRow(Command.GET_CLIENTS, "client.list", Operation.NON_REPLICATED, "local", "read_servers"),
    CommandRow(Command.GET_USER, "user.get", Operation.NON_REPLICATED, "local", "read_users_or_self"),
    CommandRow(Command.GET_USERS, "user.list", Operation.NON_REPLICATED, "local", "read_users"),
    CommandRow(Command.CREATE_USER, "user.create", Operation.CREATE_USER, "metadata", "manage_users"),
    CommandRow(Command.DELETE_USER, "user.delete", Operation.DELETE_USER, "metadata", "manage_users"),
    CommandRow(Command.UPDATE_USER, "user.update", Operation.UPDATE_USER, "metadata", "manage_users"),
    CommandRow(
        Command.UPDATE_PERMISSIONS,
        "user.permissions",
        Operation.UPDATE_PERMISSIONS,
        "metadata",
        "manage_users",
    ),
    CommandRow(
        Command.CHANGE_PASSWORD,
        "user.password",
        Operation.CHANGE_PASSWORD,
        "metadata",
        "manage_users_or_self",
    ),
    CommandRow(Command.LOGIN_USER, "user.login", Operation.NON_REPLICATED, "local", "credentials"),
    CommandRow(Command.LOGOUT, "user.logout", Operation.LOGOUT, "metadata", "session"),
    CommandRow(Command.LOGIN_REGISTER, "user.login_register", Operation.REGISTER, "register", "credentials"),
    CommandRow(
        Command.GET_PERSONAL_ACCESS_TOKENS,
        "personal_access_token.list",
        Operation.NON_REPLICATED,
        "local",
        "session",
    ),
    CommandRow(
        Command.CREATE_PERSONAL_ACCESS_TOKEN,
        "personal_access_token.create",
        Operation.CREATE_PERSONAL_ACCESS_TOKEN,
        "metadata",
        "session",
    ),
    CommandRow(
        Command.DELETE_PERSONAL_ACCESS_TOKEN,
        "personal_access_token.delete",
        Operation.DELETE_PERSONAL_ACCESS_TOKEN,
        "metadata",
        "session",
    ),
    CommandRow(
        Command.LOGIN_WITH_PERSONAL_ACCESS_TOKEN,
        "personal_access_token.login",
        Operation.NON_REPLICATED,
        "local",
        "credentials",
    ),
    CommandRow(
        Command.LOGIN_REGISTER_WITH_TOKEN,
        "user.login_register_with_pat",
        Operation.REGISTER,
        "register",
        "credentials",
    ),
    CommandRow(Command.POLL_MESSAGES, "message.poll", Operation.NON_REPLICATED, "local", "poll_messages"),
    CommandRow(Command.SEND_MESSAGES, "message.send", Operation.SEND_MESSAGES, "partition", "send_messages"),
    CommandRow(
        Command.FLUSH_UNSAVED_BUFFER,
        "message.flush_unsaved_buffer",
        Operation.NON_REPLICATED,
        "local",
        "session",
    ),
    CommandRow(
        Command.POLL_ROUTING,
        "message.poll_routing",
        Operation.NON_REPLICATED,
        "local",
        "poll_messages",
    ),
    CommandRow(
        Command.POLL_PRIMARY,
        "message.poll_primary",
        Operation.NON_REPLICATED,
        "local",
        "poll_messages",
    ),
    CommandRow(
        Command.GET_CONSUMER_OFFSET,
        "consumer_offset.get",
        Operation.NON_REPLICATED,
        "local",
        "poll_messages",
    ),
    CommandRow(
        Command.STORE_CONSUMER_OFFSET,
        "consumer_offset.store",
        Operation.STORE_CONSUMER_OFFSET,
        "partition",
        "poll_messages",
    ),
    CommandRow(
        Command.DELETE_CONSUMER_OFFSET,
        "consumer_offset.delete",
        Operation.DELETE_CONSUMER_OFFSET,
        "partition",
        "poll_messages",
    ),
    CommandRow(
        Command.OFFSET_ROUTING,
        "consumer_offset.routing",
        Operation.NON_REPLICATED,
        "local",
        "poll_messages",
    ),
    CommandRow(Command.GET_STREAM, "stream.get", Operation.NON_REPLICATED, "local", "read_stream"),
    CommandRow(Command.GET_STREAMS, "stream.list", Operation.NON_REPLICATED, "local", "read_streams"),
    CommandRow(Command.CREATE_STREAM, "stream.create", Operation.CREATE_STREAM, "metadata", "manage_streams"),
    CommandRow(Command.DELETE_STREAM, "stream.delete", Operation.DELETE_STREAM, "metadata", "manage_stream"),
    CommandRow(Command.UPDATE_STREAM, "stream.update", Operation.UPDATE_STREAM, "metadata", "manage_stream"),
    CommandRow(Command.PURGE_STREAM, "stream.purge", Operation.PURGE_STREAM, "metadata", "manage_stream"),
    CommandRow(Command.GET_TOPIC, "topic.get", Operation.NON_REPLICATED, "local", "read_topic"),
    CommandRow(Command.GET_TOPICS, "topic.list", Operation.NON_REPLICATED, "local", "read_topics"),
    CommandRow(Command.CREATE_TOPIC, "topic.create", Operation.CREATE_TOPIC, "metadata", "manage_topics"),
    CommandRow(Command.DELETE_TOPIC, "topic.delete", Operation.DELETE_TOPIC, "metadata", "manage_topic"),
    CommandRow(Command.UPDATE_TOPIC, "topic.update", Operation.UPDATE_TOPIC, "metadata", "manage_topic"),
    CommandRow(Command.PURGE_TOPIC, "topic.purge", Operation.PURGE_TOPIC, "metadata", "manage_topic"),
    CommandRow(
        Command.CREATE_PARTITIONS,
        "partition.create",
        Operation.CREATE_PARTITIONS,
        "metadata",
        "manage_topic",
    ),
    CommandRow(
        Command.DELETE_PARTITIONS,
        "partition.delete",
        Operation.DELETE_PARTITIONS,
        "metadata",
        "manage_topic",
    ),
    CommandRow(
        Command.DELETE_SEGMENTS,
        "segment.delete",
        Operation.DELETE_SEGMENTS,
        "metadata",
        "manage_topic",
    ),
    CommandRow(
        Command.GET_CONSUMER_GROUP,
        "consumer_group.get",
        Operation.NON_REPLICATED,
        "local",
        "read_topic",
    ),
    CommandRow(
        Command.GET_CONSUMER_GROUPS,
        "consumer_group.list",
        Operation.NON_REPLICATED,
        "local",
        "read_topic",
    ),
    CommandRow(
        Command.CREATE_CONSUMER_GROUP,
        "consumer_group.create",
        Operation.CREATE_CONSUMER_GROUP,
        "metadata",
        "read_topic",
    ),
    CommandRow(
        Command.DELETE_CONSUMER_GROUP,
        "consumer_group.delete",
        Operation.DELETE_CONSUMER_GROUP,
        "metadata",
        "read_topic",
    ),
    CommandRow(
        Command.JOIN_CONSUMER_GROUP,
        "consumer_group.join",
        Operation.JOIN_CONSUMER_GROUP,
        "metadata",
        "read_topic",
    ),
    CommandRow(
        Command.LEAVE_CONSUMER_GROUP,
        "consumer_group.leave",
        Operation.LEAVE_CONSUMER_GROUP,
        "metadata",
        "read_topic",
    ),
    CommandRow(
        Command.SYNC_CONSUMER_GROUP,
        "consumer_group.sync",
        Operation.NON_REPLICATED,
        "local",
        "session",
    ),
)

PERMISSIONS: Final[tuple[PermissionRow, ...]] = (
    PermissionRow("nothing", "Nothing: strangers may.", (), (), ()),
    PermissionRow("credentials", "Credentials in the body.", (), (), ()),
    PermissionRow("session", "A session.", (), (), ()),
    PermissionRow("read_servers", "Sight of servers.", ("manage_servers", "read_servers"), (), ()),
    PermissionRow("read_users", "Sight of users.", ("manage_users", "read_users"), (), ()),
    PermissionRow(
        "read_users_or_self",
        "Sight of users, unless the user is one's own.",
        ("manage_users", "read_users"),
        (),
        (),
    ),
    PermissionRow("manage_users", "Power over users.", ("manage_users",), (), ()),
    PermissionRow(
        "manage_users_or_self",
        "Power over users, unless the user is one's own.",
        ("manage_users",),
        (),
        (),
    ),
    PermissionRow("read_streams", "Sight of every stream.", ("manage_streams", "read_streams"), (), ()),
    PermissionRow(
        "read_stream",
        "Sight of the stream.",
        ("manage_streams", "read_streams"),
        ("manage_stream", "read_stream"),
        (),
    ),
    PermissionRow("manage_streams", "Power over every stream.", ("manage_streams",), (), ()),
    PermissionRow("manage_stream", "Power over the stream.", ("manage_streams",), ("manage_stream",), ()),
    PermissionRow(
        "read_topics",
        "Sight of every topic of the stream.",
        ("read_streams", "manage_streams", "manage_topics", "read_topics"),
        ("manage_stream", "read_stream", "manage_topics", "read_topics"),
        (),
    ),
    PermissionRow(
        "read_topic",
        "Sight of the topic.",
        ("read_streams", "manage_streams", "manage_topics", "read_topics"),
        ("manage_stream", "read_stream", "manage_topics", "read_topics"),
        ("manage_topic", "read_topic"),
    ),
    PermissionRow(
        "manage_topics",
        "Power over every topic of the stream.",
        ("manage_streams", "manage_topics"),
        ("manage_stream", "manage_topics"),
        (),
    ),
    PermissionRow(
        "manage_topic",
        "Power over the topic.",
        ("manage_streams", "manage_topics"),
        ("manage_stream", "manage_topics"),
        ("manage_topic",),
    ),
    PermissionRow(
        "poll_messages",
        "Polling from the topic.",
        ("poll_messages", "read_topics", "manage_topics", "read_streams", "manage_streams"),
        ("poll_messages", "read_topics", "manage_topics", "read_stream", "manage_stream"),
        ("poll_messages", "read_topic", "manage_topic"),
    ),
    PermissionRow(
        "send_messages",
        "Sending to the topic.",
        ("send_messages", "manage_streams", "manage_topics"),
        ("send_messages", "manage_stream", "manage_topics"),
        ("send_messages", "manage_topic"),
    ),
)

METRICS: Final[tuple[MetricRow, ...]] = (
    MetricRow(
        0,
        "frame_drops_total",
        "counter",
        "Frames between shards, and messages between nodes, that were refused or could not be delivered.",
        (
            LabelRow(
                "variant",
                (
                    "client_request",
                    "client_answer",
                    "hand_over",
                    "connection_closed",
                    "session_ended",
                    "partition_request",
                    "rows",
                    "mirrored",
                    "orders",
                    "fates",
                    "observed",
                    "cut",
                    "cut_ended",
                    "adopt",
                    "adoption_ended",
                    "replica_message",
                    "replica_read",
                ),
            ),
            LabelRow("reason", ("full", "gone", "misrouted", "unroutable", "stopping", "unwanted")),
        ),
        0,
    ),
    MetricRow(1, "connections_accepted_total", "counter", "Connections accepted.", (), 102),
    MetricRow(
        2,
        "connection_closes_total",
        "counter",
        "Connections closed, by the reason the server saw.",
        (
            LabelRow(
                "reason",
                (
                    "client_closed",
                    "truncated",
                    "io_error",
                    "legacy_framing",
                    "bad_size",
                    "bad_command",
                    "oversize_before_login",
                    "frame_timeout",
                    "send_timeout",
                    "displaced",
                    "table_full",
                    "evicted",
                    "stopping",
                ),
            ),
        ),
        103,
    ),
    MetricRow(3, "connections_open", "gauge", "Connections open.", (), 116),
    MetricRow(
        4,
        "connections_unauthenticated",
        "gauge",
        "Connections open that have not logged in.",
        (),
        117,
    ),
    MetricRow(5, "sessions_open", "gauge", "Sessions open.", (), 118),
    MetricRow(6, "requests_total", "counter", "Requests whose header and body arrived.", (), 119),
    MetricRow(
        7,
        "replies_total",
        "counter",
        "Replies sent, by how the request ended.",
        (LabelRow("outcome", ("ok", "denied", "rejected", "evicted", "busy")),),
        120,
    ),
    MetricRow(8, "bytes_received_total", "counter", "Bytes received from clients.", (), 125),
    MetricRow(9, "bytes_sent_total", "counter", "Bytes sent to clients.", (), 126),
    MetricRow(
        10,
        "accept_pauses_total",
        "counter",
        "Times accepting paused for want of descriptors or places.",
        (),
        127,
    ),
    MetricRow(
        11,
        "mailbox_entries_total",
        "counter",
        "Entries taken from the mailboxes of other shards.",
        (),
        128,
    ),
    MetricRow(12, "doorbells_total", "counter", "Times a sleeping shard was woken by another.", (), 129),
    MetricRow(13, "shard_turns_total", "counter", "Turns of the shard's loop.", (), 130),
    MetricRow(
        14,
        "io_syscalls_total",
        "counter",
        "System calls made for I/O by the shard's thread.",
        (),
        131,
    ),
    MetricRow(15, "io_operations_total", "counter", "I/O operations completed.", (), 132),
    MetricRow(
        16,
        "logins_total",
        "counter",
        "Logins by password, by how they ended.",
        (LabelRow("outcome", ("ok", "refused", "busy")),),
        133,
    ),
    MetricRow(
        17,
        "log_events_lost_total",
        "counter",
        "Log events of the native side lost because their ring was full.",
        (),
        136,
    ),
    MetricRow(
        18,
        "record_ring_full_total",
        "counter",
        "Times a record ring between the first shard and the control plane became full.",
        (),
        137,
    ),
    MetricRow(
        19,
        "request_seconds",
        "histogram",
        "From a request's arrival, whole, to its reply, by what it asked for.",
        (LabelRow("class", ("send", "poll", "offset", "metadata", "session", "own")),),
        138,
        ScaleRow(
            1000000,
            (
                50,
                100,
                200,
                300,
                500,
                1000,
                2000,
                3000,
                5000,
                10000,
                20000,
                50000,
                100000,
                200000,
                500000,
                1000000,
                5000000,
            ),
        ),
    ),
    MetricRow(
        20,
        "journal_sync_seconds",
        "histogram",
        "From handing a block of the journal to the disk, or asking for a sync, until it is synced.",
        (),
        252,
        ScaleRow(
            1000000,
            (
                50,
                100,
                200,
                300,
                500,
                1000,
                2000,
                3000,
                5000,
                10000,
                20000,
                50000,
                100000,
                200000,
                500000,
                1000000,
                5000000,
            ),
        ),
    ),
    MetricRow(
        21,
        "journal_block_bytes",
        "histogram",
        "Sizes of the blocks of the journal: what is written, and synced, at once.",
        (),
        271,
        ScaleRow(1, (4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)),
    ),
    MetricRow(
        22,
        "messages_appended_total",
        "counter",
        "Messages of batches that were confirmed to their producers.",
        (),
        281,
    ),
    MetricRow(23, "message_bytes_appended_total", "counter", "Bytes of these batches.", (), 282),
    MetricRow(24, "messages_polled_total", "counter", "Messages that polls answered with.", (), 283),
    MetricRow(25, "message_bytes_polled_total", "counter", "Bytes of these messages.", (), 284),
    MetricRow(
        26,
        "partition_requests_waiting",
        "gauge",
        "Requests for partitions that wait for a log or a disk.",
        (),
        285,
    ),
    MetricRow(
        27,
        "mailbox_entries_waiting",
        "gauge",
        "Entries that wait in the mailboxes from other shards.",
        (),
        286,
    ),
    MetricRow(
        28,
        "unflushed_bytes",
        "gauge",
        "Bytes of messages that are in the journal and not in segments yet.",
        (),
        287,
    ),
    MetricRow(
        29,
        "segment_writes_put_off_total",
        "counter",
        "Times that messages could not be written to segments for want of space or descriptors, and wait.",
        (),
        288,
    ),
    MetricRow(30, "groups_open", "gauge", "Groups open, the one of the metadata included.", (), 289),
    MetricRow(31, "journal_files", "gauge", "Files of the journal.", (), 290),
    MetricRow(32, "journal_live_bytes", "gauge", "Bytes in the journal that are needed still.", (), 291),
    MetricRow(
        33,
        "journal_live_bytes_max",
        "gauge",
        "Bytes that the journal may need before requests are turned away.",
        (),
        292,
    ),
    MetricRow(
        34,
        "damaged_polls_total",
        "counter",
        "Polls that met stored messages that are damaged or missing.",
        (),
        293,
    ),
    MetricRow(
        35,
        "damaged_partitions",
        "gauge",
        "Partitions with damaged or lost messages. `/ready` names them.",
        (),
        294,
    ),
    MetricRow(
        36,
        "early_acknowledgements_total",
        "counter",
        "Requests whose first bytes the server acknowledged at once, because their client (Nagle's algorithm is on) waits for that.",
        (),
        295,
    ),
    MetricRow(
        37,
        "trash_bytes",
        "gauge",
        "Bytes of deleted topics and partitions that are still to be deleted from the disk.",
        (),
        296,
    ),
    MetricRow(
        38,
        "partitions_waiting_for_space",
        "gauge",
        "Partitions whose messages wait in memory and in the journal for disk space.",
        (),
        297,
    ),
    MetricRow(39, "refusing_sends", "gauge", "1 while sends are refused for lack of disk space.", (), 298),
    MetricRow(
        40,
        "sends_refused_for_space_total",
        "counter",
        "Sends refused for lack of disk space.",
        (),
        299,
    ),
    MetricRow(41, "removals_failing", "gauge", "Removals of files that failed and are retried.", (), 300),
    MetricRow(
        42,
        "damaged_ranges",
        "gauge",
        "Ranges of offsets whose messages are damaged or lost.",
        (),
        301,
    ),
    MetricRow(
        43,
        "memory_budget_bytes",
        "gauge",
        "Bytes of memory that each part of the budget may have.",
        (LabelRow("part", ("poll_cache", "poll_reads", "replies", "unflushed", "connections", "spares")),),
        302,
    ),
    MetricRow(
        44,
        "memory_used_bytes",
        "gauge",
        "Bytes of memory that each part of the budget holds.",
        (LabelRow("part", ("poll_cache", "poll_reads", "replies", "unflushed", "connections", "spares")),),
        308,
    ),
    MetricRow(
        45,
        "polls_waiting_for_memory",
        "gauge",
        "Polls that wait for memory for their replies.",
        (),
        314,
    ),
    MetricRow(
        46,
        "metadata_answers_unconverged_total",
        "counter",
        "Answers to changes of streams and topics sent after 2 s, before every shard had converged.",
        (),
        315,
    ),
    MetricRow(
        47,
        "journal_bytes_lacking",
        "gauge",
        "Bytes of disk space that the journal needs for a further file before it can go on; 0 while it can.",
        (),
        316,
    ),
)

EVENTS: Final[tuple[EventRow, ...]] = (
    EventRow(1, "shard_stopped", "info", "Shard {shard} stopped after {turns} turns.", ("shard", "turns")),
    EventRow(
        2,
        "accept_paused",
        "warning",
        "Accepting paused with {connections} connections open (errno {errno}).",
        ("connections", "errno"),
    ),
    EventRow(
        3,
        "accept_resumed",
        "info",
        "Accepting resumed with {connections} connections open after {pause_ms} ms.",
        ("connections", "pause_ms"),
    ),
    EventRow(
        4,
        "frame_dropped",
        "warning",
        "A frame between shards was dropped (variant {variant}, reason {reason}).",
        ("variant", "reason"),
    ),
    EventRow(
        5,
        "control_plane_stalled",
        "error",
        "The control plane has not answered for {stall_ms} ms.",
        ("stall_ms",),
    ),
    EventRow(
        6,
        "control_plane_recovered",
        "info",
        "The control plane answers again after {stall_ms} ms.",
        ("stall_ms",),
    ),
    EventRow(
        7,
        "shard_stalled",
        "error",
        "Shard {shard} has not turned for {stall_ms} ms.",
        ("shard", "stall_ms"),
    ),
    EventRow(
        8,
        "watchdog_unreachable",
        "error",
        "The service manager's socket cannot be used (errno {errno}): it will take this process for dead.",
        ("errno",),
    ),
    EventRow(
        9,
        "answers_cut",
        "warning",
        "Shard {shard} stopped with answers owed on {connections} connections.",
        ("shard", "connections"),
    ),
    EventRow(
        10,
        "messages_damaged",
        "error",
        "Stored messages are damaged or missing: a poll met them at offset {offset} of group {group}.",
        ("group", "offset"),
    ),
    EventRow(
        11,
        "space_short",
        "error",
        "The disk is full: {partitions} partitions and {bytes} bytes of messages wait for space, in memory and in the journal.",
        ("partitions", "bytes"),
    ),
    EventRow(
        12,
        "sends_refused_for_space",
        "error",
        "The disk is full: {sends} sends were refused since then, and {partitions} partitions wait for space.",
        ("sends", "partitions"),
    ),
    EventRow(
        13,
        "space_recovered",
        "info",
        "All messages are in segments again, after {short_ms} ms without space and {sends} refused sends.",
        ("short_ms", "sends"),
    ),
    EventRow(
        14,
        "removal_failed",
        "warning",
        "Files of group {group} cannot be removed (errno {errno}). This is retried.",
        ("group", "errno"),
    ),
    EventRow(15, "removals_recovered", "info", "All removals of files that had failed are done.", ()),
    EventRow(
        16,
        "trash_failed",
        "warning",
        "The trash cannot be deleted (errno {errno}), and has {bytes} bytes. This is retried.",
        ("errno", "bytes"),
    ),
    EventRow(
        17,
        "trash_recovered",
        "info",
        "The trash can be deleted again, and has {bytes} bytes.",
        ("bytes",),
    ),
    EventRow(
        18,
        "client_disconnected",
        "debug",
        "A client that had logged in is disconnected (its port {port}, close reason {reason}).",
        ("port", "reason"),
    ),
    EventRow(
        19,
        "messages_fenced",
        "error",
        "Stored messages of group {group} are lost, from offset {offset} on.",
        ("group", "offset"),
    ),
    EventRow(
        20,
        "journal_stuck",
        "error",
        "The journal cannot go on without a further file of {bytes} bytes, which cannot be made (errno {errno}). Make room on the file system; this is retried.",
        ("bytes", "errno"),
    ),
    EventRow(21, "journal_freed", "info", "The journal can go on, with {files} files.", ("files",)),
)

EXITS: Final[tuple[ExitRow, ...]] = (
    ExitRow(ExitStatus.CLEAN, "clean", "Stopped when asked to, with everything in order."),
    ExitRow(
        ExitStatus.DAMAGED_DATA,
        "damaged_data",
        "Stored data is damaged beyond what can be repaired without losing acknowledged records.",
    ),
    ExitRow(
        ExitStatus.INTERNAL_FAULT,
        "internal_fault",
        "A thread met a state that cannot be, and the process stopped instead of going on.",
    ),
    ExitRow(
        ExitStatus.JOURNAL_IO,
        "journal_io",
        "The journal could not be written or synced, so nothing further may be acknowledged.",
    ),
    ExitRow(ExitStatus.UNCLEAN_STOP, "unclean_stop", "Stopped before everything in flight was settled."),
    ExitRow(
        ExitStatus.CONFIGURATION,
        "configuration",
        "The configuration, or what it asks of this machine, is not acceptable.",
    ),
)

TOPIC_OPTIONS: Final[tuple[TopicOptionRow, ...]] = (
    TopicOptionRow("compression_algorithm", ValueKind.TEXT, "none", True),
    TopicOptionRow("consumer_offset_durability", ValueKind.TEXT, "replicated", False),
    TopicOptionRow("durability", ValueKind.TEXT, "replicated", False),
    TopicOptionRow("max_topic_size", ValueKind.U64, 18446744073709551615, True),
    TopicOptionRow("message_expiry", ValueKind.U64, 18446744073709551615, True),
    TopicOptionRow("messages_required_to_save", ValueKind.U32, 1024, False),
    TopicOptionRow("preallocate_segments", ValueKind.BOOL, 0, False),
    TopicOptionRow("segment_size", ValueKind.U64, 1073741824, False),
    TopicOptionRow("size_of_messages_required_to_save", ValueKind.U64, 1048576, False),
)
