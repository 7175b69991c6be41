"""Object stores: where bytes go that are too many for the database.

failures.py     how they fail
folder.py       `file:///path`: a folder of this machine, or one that machines share
buckets.py      `s3://`, `gs://`, `az://`: by obstore, of the extra `objects`
opening.py      which URL is opened by what

They are plug-ins: `plugins/shapes.py: ObjectStore` says what one has to do, and the scheme of a
URL is the name of its entry point.
"""

from mainspring.objects.failures import ObjectGone, StoreFailed
from mainspring.objects.opening import check_url, from_url

__all__ = ["ObjectGone", "StoreFailed", "check_url", "from_url"]
