"""The proof of a whole passport, in which every step leads to the root."""

from bisect import bisect
from collections.abc import Mapping
from datetime import date

from bpc_worker.core.proof import ProofBuilder, node_hash
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.typed import TypedModule


class BoundProof(ProofBuilder):
    """Binds what was computed and then not used, such as a value that is withheld, to the field it was for.

    The root's hash covers what the root rests on: anything else in a proof could be changed unseen.
    """

    def finish(self) -> tuple[bytes, str]:
        used = {child for _, _, children in self._known for child in children}
        fields = sorted(self.fields.values())
        spare: dict[int, tuple[int, ...]] = {}
        for number in sorted(set(self._known.values()) - used - set(fields)):
            for owner in fields[bisect(fields, number) :][
                :1
            ]:  # steps are made while their field is evaluated
                spare[owner] = (*spare.get(owner, ()), number)
        if spare:
            self._bind(spare)
        return super().finish()

    def _bind(self, spare: Mapping[int, tuple[int, ...]]) -> None:
        steps = list(self._known)  # by number
        self._known, self._hashes, self._texts = {}, [], []
        for number, (kind, data, children) in enumerate(steps):
            below = (*children, *spare.get(number, ()))
            hashed = node_hash(number, kind, data, [self._hashes[child] for child in below])
            head = f'{{"children":[{",".join(map(str, below))}],"data":'.encode()
            self._known[kind, data, below] = number
            self._hashes.append(hashed)
            self._texts.append(head + data + f',"hash":"{hashed}","id":{number},"type":"{kind}"}}'.encode())


class Prover(Evaluator):
    """An evaluator that makes such a proof."""

    def __init__(
        self, module: TypedModule, facts: FactSet, law_date: date | None, limits: Limits | None = None
    ) -> None:
        super().__init__(module, facts, law_date, limits)
        self._trace.proof = BoundProof()
