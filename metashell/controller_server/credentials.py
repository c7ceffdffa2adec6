"""Who may log in at a controller's listeners by SCRAM: the users and the delegation tokens of the committed image.

Source: org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler, DelegationTokenCache, KRaft's ScramPublisher and
DelegationTokenPublisher; KIP-48, KIP-900.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.controller.access.tokens import hmac_of_token
from metashell.net.sasl import ScramCredential, TokenCredential

if TYPE_CHECKING:
    from metashell.image import MetadataImage

_MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""By their numbers in records."""
TOKENS_MAX: Final = 1000
"""Tokens whose credential is kept: making one takes some milliseconds."""


class ImageCredentials:
    """Answers from whatever image `image` gives when it is asked, so that who was removed cannot log in any more.

    `secret` is delegation.token.secret.key: the HMACs of tokens are not in the log but made of it; without one no token is taken.
    Units: `wall_ms` gives Unix ms.
    """

    def __init__(self, image: Callable[[], MetadataImage], secret: str | None, wall_ms: Callable[[], int]) -> None:
        self._image = image
        self._secret = secret
        self._wall_ms = wall_ms
        self._of_tokens: dict[tuple[str, str], ScramCredential] = {}

    def plain(self, username: str) -> str | None:
        """See Credentials. The image has no passwords; those of PLAIN are in the listener's JAAS configuration."""
        return None

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """See Credentials."""
        found = self._image().scram.get(_MECHANISMS[mechanism])
        user = None if found is None else found.get(username)
        return None if user is None else ScramCredential(*user)

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        """See Credentials. An expired token is refused, although it is in the image until the active controller removes it."""
        if self._secret is None:
            return None
        token = self._image().delegation_tokens.get(token_id)
        if token is None:
            return None
        left_ms = min(token.expiration_timestamp, token.max_timestamp) - self._wall_ms()
        if left_ms <= 0:
            return None
        return TokenCredential(token.owner, self._credential(mechanism, token_id, self._secret), left_ms)

    def _credential(self, mechanism: str, token_id: str, secret: str) -> ScramCredential:
        """That of the token's HMAC, which is the password, in base64."""
        key = mechanism, token_id
        found = self._of_tokens.get(key)
        if found is None:
            from metashell.net.scram import make_credential

            password = b64encode(hmac_of_token(secret, token_id)).decode()
            if len(self._of_tokens) >= TOKENS_MAX:
                self._of_tokens.clear()
            found = self._of_tokens[key] = make_credential(mechanism, password)
        return found
