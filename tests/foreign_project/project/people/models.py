"""People without user names, whose ids are UUIDs."""

import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class People(BaseUserManager):
    def create_superuser(self, email: str, password: str) -> "Person":
        person = self.model(email=email, is_staff=True, is_superuser=True)
        person.set_password(password)
        person.save()
        return person


class Person(AbstractBaseUser, PermissionsMixin):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)

    objects = People()
    USERNAME_FIELD = "email"

    def __str__(self) -> str:
        return self.email


class ClosedClaim(models.Model):
    """A claim that has ended: written with its end, or not at all."""

    subject = models.CharField(max_length=200, primary_key=True)
    state = models.CharField(max_length=20)
