from tests.pages.conftest import origin

__all__ = ["origin"]
