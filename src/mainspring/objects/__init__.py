"""Object stores: where bytes go that are too many for the database.

interface.py    ObjectStore: put, get, delete; and how they fail
folder.py       `file:///path`: a folder of this machine, or one that machines share
buckets.py      `s3://`, `gs://`, `az://`: by obstore, of the extra `objects`
opening.py      which URL is opened by what
"""

from mainspring.objects.interface import ObjectGone, ObjectStore, StoreFailed
from mainspring.objects.opening import check_url, from_url

__all__ = ["ObjectGone", "ObjectStore", "StoreFailed", "check_url", "from_url"]
