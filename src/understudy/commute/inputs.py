"""What a commuting recipe is given: the counted table, and everything that is public about its places."""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.commute.lists import Origins
from understudy.commute.places import Places
from understudy.commute.regions import Regions
from understudy.privacy.account import Account
from understudy.privacy.provenance import InputRole, Provenance
from understudy.sources.flows import Flows


@dataclass(frozen=True, kw_only=True, eq=False)
class CommuteInput:
    """A table of commutes with what is public about its places, and the account that pays for what is drawn from it."""

    flows: Flows
    places: Places | None = None
    regions: Regions | None = None
    origins: Origins | None = None
    """The list that the origins come from, where it is not that of the places."""
    names: tuple[str, str] = ("origin", "destination")
    """Columns of the synthetic table."""
    account: Account | None = None

    @property
    def public(self) -> Mapping[InputRole, Provenance]:
        """What every public table is; recipes bring more of them."""
        given = {InputRole.PLACES: self.places, InputRole.ORIGINS: self.origins, InputRole.REGIONS: self.regions}
        return {role: table.provenance for role, table in given.items() if table is not None}
