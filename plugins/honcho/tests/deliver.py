"""A process that opens a profile, says things and delivers them; killed by ``test_kills``.

python deliver.py HOME URL TURNS     say TURNS turns (those not said yet), deliver, stay until killed or empty
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from hermes_memory_honcho import HonchoProvider

from hermes_memory_core import Memory
from hermes_memory_core.errors import SessionNotFoundError

home, url, turns = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
home.mkdir(exist_ok=True)
frequency = sys.argv[4] if len(sys.argv) > 4 else "async"
settings = {
    "memory": {"provider": "honcho"},
    "providers": {"honcho": {"base_url": url, "write_frequency": frequency, "timeout": 5}},
}
(home / "config.yaml").write_text(json.dumps(settings))
with Memory.open(home, providers=[HonchoProvider]) as memory:
    try:
        said = sum(one.role == "user" for one in memory.history.messages("long"))
    except SessionNotFoundError:
        said = 0
    with memory.session(session_id="long", on_exit="detach") as session:
        for number in range(said, turns):
            session.end_turn(f"fact {number:05d}", f"noted {number:05d}")
        print("said", flush=True)
        while not memory.flush(1.0):
            print("waiting", flush=True)
        if frequency != "async":
            session.end()
            while not memory.flush(1.0):
                print("waiting", flush=True)
print("delivered", flush=True)
