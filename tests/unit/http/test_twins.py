"""Both clients have a method for every route, of the same shape."""

from __future__ import annotations

import inspect

import pytest

from mainspring.api.catalogue import RESOURCES
from mainspring.http import client, sync_client
from tools.generators.http_client import _attribute, _class_name, _methods

GROUPS = [resource for resource in RESOURCES if list(_methods(resource))]


@pytest.mark.parametrize("resource", GROUPS, ids=lambda resource: resource.tag)
def test_the_twins_have_the_same_methods_with_the_same_arguments(resource: object) -> None:
    name = _class_name(resource.tag)  # type: ignore[attr-defined]
    one, other = getattr(client, name), getattr(sync_client, name)

    def methods(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in inspect.getmembers(kind, inspect.isfunction)
        }

    assert methods(one) == methods(other)
    wanted = {method.name for method in _methods(resource)}  # type: ignore[arg-type]
    assert wanted <= set(methods(one))
    for method in wanted:
        assert inspect.iscoroutinefunction(getattr(one, method))
        assert not inspect.iscoroutinefunction(getattr(other, method))


def test_each_resource_is_a_member_of_the_client() -> None:
    http = sync_client.SyncHttpClient("http://127.0.0.1:1")
    for resource in GROUPS:
        assert type(getattr(http, _attribute(resource.tag))).__name__ == _class_name(resource.tag)
    http.close()
